// SPDX-License-Identifier: Apache-2.0
// The 128x4 scale layout of cuBLAS ("1D block scaling factors") and CUTLASS. A tile is 128 rows x 4
// scales in 512 bytes; its rows r, r+32, r+64 and r+96 stand side by side, which is how the tensor
// cores' scale memory wants them. Tiles follow each other row-major.
#include "nvfp4/check.hpp"
#include "rounding.hpp"
#include "thresher/nvfp4.hpp"
#include "thresher/problem.hpp"

namespace thresher {
namespace {

using namespace nvfp4;

constexpr std::int64_t kTileRows = 128;
constexpr std::int64_t kTileScales = 4;
constexpr std::int64_t kTileBytes = kTileRows * kTileScales;

struct SwizzledShape {
  std::int64_t row_tile_count;
  std::int64_t scale_tile_count;

  std::int64_t bytes() const { return row_tile_count * scale_tile_count * kTileBytes; }

  std::int64_t offset(std::int64_t row, std::int64_t scale) const {
    const std::int64_t tile = row / kTileRows * scale_tile_count + scale / kTileScales;
    const std::int64_t row_in_tile = row % kTileRows;
    return tile * kTileBytes + row_in_tile % 32 * 16 + row_in_tile / 32 * 4 + scale % kTileScales;
  }
};

SwizzledShape checked_shape(const char* what, std::int64_t rows, std::int64_t scale_count_per_row) {
  check_extent(what, {.name = "rows", .value = rows, .min = 0, .max = kExtentMax});
  check_extent(what, {.name = "scale_count_per_row",
                      .value = scale_count_per_row,
                      .min = 1,
                      .max = kExtentMax / kBlockElements});
  check_matrix_extents(what, rows, scale_count_per_row * kBlockElements);
  return {.row_tile_count = divide_up(rows, kTileRows),
          .scale_tile_count = divide_up(scale_count_per_row, kTileScales)};
}

}  // namespace

std::vector<std::uint8_t> swizzle_scales_128x4(std::span<const std::uint8_t> scales,
                                               std::int64_t rows,
                                               std::int64_t scale_count_per_row) {
  constexpr const char* kWhat = "swizzle_scales_128x4";
  const SwizzledShape shape = checked_shape(kWhat, rows, scale_count_per_row);
  check_count(
      kWhat,
      {.name = "scales", .count = scales.size(), .rows = rows, .columns = scale_count_per_row});
  std::vector<std::uint8_t> swizzled(static_cast<std::size_t>(shape.bytes()));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t scale = 0; scale < scale_count_per_row; ++scale) {
      swizzled[shape.offset(row, scale)] = scales[row * scale_count_per_row + scale];
    }
  }
  return swizzled;
}

std::vector<std::uint8_t> unswizzle_scales_128x4(std::span<const std::uint8_t> swizzled,
                                                 std::int64_t rows,
                                                 std::int64_t scale_count_per_row) {
  constexpr const char* kWhat = "unswizzle_scales_128x4";
  const SwizzledShape shape = checked_shape(kWhat, rows, scale_count_per_row);
  check_count(kWhat, {.name = "swizzled scales",
                      .count = swizzled.size(),
                      .rows = shape.row_tile_count * kTileRows,
                      .columns = shape.scale_tile_count * kTileScales});
  std::vector<std::uint8_t> scales(static_cast<std::size_t>(rows * scale_count_per_row));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t scale = 0; scale < scale_count_per_row; ++scale) {
      scales[row * scale_count_per_row + scale] = swizzled[shape.offset(row, scale)];
    }
  }
  return scales;
}

}  // namespace thresher
