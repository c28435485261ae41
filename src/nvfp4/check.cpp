// SPDX-License-Identifier: Apache-2.0
#include "nvfp4/check.hpp"

#include <fmt/format.h>

#include <cmath>

#include "nvfp4/e4m3.hpp"
#include "thresher/error.hpp"
#include "thresher/nvfp4.hpp"
#include "thresher/problem.hpp"

namespace thresher {
namespace nvfp4 {

void check_extent(const char* what, const Extent& extent) {
  if (extent.value >= extent.min && extent.value <= extent.max) return;
  throw Error(fmt::format("{}: {} = {} is not in {}..{}", what, extent.name, extent.value,
                          extent.min, extent.max));
}

void check_matrix_extents(const char* what, std::int64_t rows, std::int64_t k_elements) {
  check_extent(what, {.name = "rows", .value = rows, .min = 0, .max = kExtentMax});
  check_extent(
      what, {.name = "k_elements", .value = k_elements, .min = kBlockElements, .max = kExtentMax});
  if (k_elements % kBlockElements != 0) {
    throw Error(fmt::format("{}: k_elements = {} is not a multiple of {}", what, k_elements,
                            kBlockElements));
  }
  if (rows * k_elements > kMatrixElementsMax) {
    throw Error(fmt::format("{}: {} x {} = {} elements are more than {}", what, rows, k_elements,
                            rows * k_elements, kMatrixElementsMax));
  }
}

void check_count(const char* what, const Buffer& buffer) {
  const std::int64_t needed = buffer.rows * buffer.columns;
  if (buffer.count == static_cast<std::size_t>(needed)) return;
  throw Error(fmt::format("{}: {} {} given, {} x {} = {} needed", what, buffer.count, buffer.name,
                          buffer.rows, buffer.columns, needed));
}

namespace {

// Looks at every scale before it answers: without an early way out the loop becomes vector code,
// and NaN is the rare case.
bool any_nan(const std::uint8_t* scales, std::int64_t scale_count) {
  unsigned found = 0;
  for (std::int64_t i = 0; i < scale_count; ++i) found |= is_nan_e4m3(scales[i]) ? 1u : 0u;
  return found != 0;
}

[[noreturn]] void throw_nan_scale(const char* what, std::int64_t row, const std::uint8_t* scales) {
  std::int64_t block = 0;
  while (!is_nan_e4m3(scales[block])) ++block;
  throw Error(fmt::format("{}: row {}, block {}: scale code {:#04x} is NaN", what, row, block,
                          scales[block]));
}

}  // namespace
}  // namespace nvfp4

void check(const Nvfp4View& matrix, const char* what) {
  nvfp4::check_matrix_extents(what, matrix.rows, matrix.k_elements);
  if (!std::isfinite(matrix.global_scale)) {
    throw Error(fmt::format("{}: global_scale = {} is not finite", what, matrix.global_scale));
  }
  if (matrix.rows == 0) return;
  if (matrix.codes == nullptr) throw Error(fmt::format("{}: codes is null", what));
  if (matrix.scales == nullptr) throw Error(fmt::format("{}: scales is null", what));

  const std::int64_t scale_count_per_row = matrix.k_elements / kBlockElements;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    const std::uint8_t* scales = matrix.scales + row * scale_count_per_row;
    if (nvfp4::any_nan(scales, scale_count_per_row)) nvfp4::throw_nan_scale(what, row, scales);
  }
}

}  // namespace thresher
