// SPDX-License-Identifier: Apache-2.0
#include "gpu/sm100/weight_images.hpp"

#include <algorithm>
#include <cstring>

#include "assert.hpp"
#include "gpu/sm100/kernels/tensor_layout.hpp"

namespace thresher::gpu::sm100 {
namespace {

constexpr std::uint64_t kBlockSigns = 0x8888888888888888u;

// One block of 16 codes with its scale: where it is in a matrix, and where in the packed bytes.
struct BlockPlace {
  std::size_t block = 0;  // of the matrix, in its row-major order
  std::size_t codes = 0;
  std::size_t scale = 0;
  std::size_t sign_byte = 0;
  int sign_bit = 0;
};

// Every block of the matrix with this index among those packed.
template <class Visit>
void for_each_block(const WeightImages& images, std::int64_t matrix_index, const Visit& visit) {
  const std::int64_t blocks_per_row = images.k_elements / kBlockK;
  const auto signs = static_cast<std::size_t>(images.tile_count()) * kTileBytes;
  for (std::int64_t row = 0; row < images.n; ++row) {
    const auto row_in_tile = static_cast<u32>(row % kTileRows);
    for (std::int64_t b = 0; b < blocks_per_row; ++b) {
      const auto block = static_cast<u32>(b % kBlocksPerTile);
      const std::int64_t in_row_tile = row / kTileRows * images.k_tile_count() + b / kBlocksPerTile;
      const auto tile =
          static_cast<std::size_t>(in_row_tile * images.matrix_count() + matrix_index);
      const u32 bit = row_in_tile * kBlocksPerTile + block;
      visit(BlockPlace{
          .block = static_cast<std::size_t>(row * blocks_per_row + b),
          .codes = tile * kTileBytes + code_place(row_in_tile, block),
          .scale = tile * kTileBytes + kTileCodeBytes + scale_place(row_in_tile, block, 1),
          .sign_byte = signs + tile * kTileSignBytes + bit / 8,
          .sign_bit = static_cast<int>(bit % 8)});
    }
  }
}

void pack_matrix(const WeightImages& images, std::int64_t index, const Nvfp4View& matrix,
                 std::span<std::uint8_t> out) {
  for_each_block(images, index, [&](const BlockPlace& at) {
    const std::uint8_t scale = matrix.scales[at.block];
    std::uint64_t codes;
    std::memcpy(&codes, matrix.codes + at.block * sizeof codes, sizeof codes);
    if ((scale & 0x80) != 0) codes ^= kBlockSigns;
    std::memcpy(&out[at.codes], &codes, sizeof codes);
    out[at.scale] = scale & 0x7f;
    out[at.sign_byte] = static_cast<std::uint8_t>(out[at.sign_byte] | (scale >> 7) << at.sign_bit);
  });
}

}  // namespace

std::int64_t WeightImages::row_tile_count() const {
  return divide_up(n, static_cast<std::int64_t>(kTileRows));
}

std::int64_t WeightImages::k_tile_count() const {
  return divide_up(k_elements, static_cast<std::int64_t>(kTileK));
}

std::size_t WeightImages::bytes() const {
  return static_cast<std::size_t>(tile_count()) * (kTileBytes + kTileSignBytes);
}

WeightImages images_for(const WeightMatrices& matrices) {
  return {.op = matrices.op, .n = matrices.b.rows, .k_elements = matrices.b.k_elements};
}

void pack_images(const WeightMatrices& matrices, std::span<std::uint8_t> out) {
  const WeightImages images = images_for(matrices);
  THRESHER_ASSERT(out.size() == images.bytes());
  std::fill(out.begin(), out.end(), std::uint8_t{0});
  pack_matrix(images, 0, matrices.b, out);
  if (matrices.op == Op::kDual) pack_matrix(images, 1, matrices.up, out);
}

// The codes are in the swizzle already.
hw::TensorMapFields map_of(const WeightImages& images, std::uint64_t address) {
  return hw::tensor_map_fields(address, static_cast<u64>(images.tile_count()) * kTileBoxRows,
                               hw::kBoxRowBytes, kTileBoxRows, hw::Swizzle::kNone);
}

Nvfp4Matrix unpack_images(const WeightImages& images, std::span<const std::uint8_t> packed,
                          int matrix) {
  THRESHER_ASSERT(packed.size() == images.bytes() && matrix < images.matrix_count());
  Nvfp4Matrix result;
  result.rows = images.n;
  result.k_elements = images.k_elements;
  const auto elements = static_cast<std::size_t>(images.n * images.k_elements);
  result.codes.resize(elements / 2);
  result.scales.resize(elements / kBlockK);
  for_each_block(images, matrix, [&](const BlockPlace& at) {
    const bool flipped = (packed[at.sign_byte] >> at.sign_bit & 1) != 0;
    std::uint64_t codes;
    std::memcpy(&codes, &packed[at.codes], sizeof codes);
    if (flipped) codes ^= kBlockSigns;
    std::memcpy(&result.codes[at.block * sizeof codes], &codes, sizeof codes);
    result.scales[at.block] = static_cast<std::uint8_t>(packed[at.scale] | (flipped ? 0x80 : 0));
  });
  return result;
}

}  // namespace thresher::gpu::sm100
