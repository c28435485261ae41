// SPDX-License-Identifier: Apache-2.0
// How codes and scales lie for Blackwell's MMAs: packed weights in memory, a stage of both operands
// in shared memory, and sums and scales in tensor memory. The host packs by it
// (gpu/sm100/weight_images.cpp), the kernels load by it.
//
// A k tile is 256 deep: a row of codes is 128 bytes, one line of the 128-byte swizzle, in which the
// 16-byte chunk c of row r stands at place c ^ (r % 8). Scales are blocks of 128 rows x 4 (512
// bytes, 64 deep), as cuBLAS and CUTLASS have them: byte 16 * (r % 32) + 4 * (r / 32 % 4) + s % 4.
//
// A tile of weights is 128 rows: 16384 bytes of codes, then 4 blocks of scales. Tiles follow each
// other along k, then by rows; of dual weights the gate's tile is followed by the up's, so one bulk
// copy fetches what a stage needs. A negative scale has flipped its codes' signs, for the MMA does
// not look at it; the signs of all tiles follow the last one, 256 bytes per tile: bit 16 * r + b
// belongs to row r and block b. Rows beyond n and k beyond the matrix are zeros.
#pragma once

#include "gpu/gemm/kernels/gemm_args.hpp"
#include "gpu/gemm/kernels/gemm_config.hpp"
#include "gpu/hw/sm100/descriptors.hpp"
#include "gpu/hw/sm90/tensor_map.hpp"
#include "rounding.hpp"

namespace thresher::gpu::sm100 {

inline constexpr u32 kTileK = 256;
inline constexpr u32 kStepsPerTile = kTileK / hw::kBlockScaledK;
inline constexpr u32 kBlockK = 16;  // of one scale
inline constexpr u32 kBlocksPerTile = kTileK / kBlockK;
inline constexpr u32 kTileRows = hw::kBlockScaledRows;
inline constexpr u32 kCodeRowBytes = kTileK / 2;
inline constexpr u32 kTileCodeBytes = kTileRows * kCodeRowBytes;
inline constexpr u32 kTileScaleBytes = kStepsPerTile * hw::kScaleBytes;
inline constexpr u32 kTileBytes = kTileCodeBytes + kTileScaleBytes;
inline constexpr u32 kTileSignBytes = kTileRows * kBlocksPerTile / 8;
static_assert(kTileBytes == 16384 + 2048);
// A tensor map sees packed weights as rows of so many bytes, and a tile as a box of them.
inline constexpr u32 kTileBoxRows = kTileBytes / hw::kBoxRowBytes;
static_assert(kTileBoxRows == 144);

// Where the 8 bytes of codes of row and block lie in a tile of codes.
THRESHER_DEVICE constexpr u32 code_place(u32 row, u32 block) {
  return row * kCodeRowBytes + (block / 2 ^ row % 8) * 16 + block % 2 * 8;
}

// Where their scale lies among the scales of `row_blocks` blocks of 128 rows.
THRESHER_DEVICE constexpr u32 scale_place(u32 row, u32 block, u32 row_blocks) {
  return (block / 4 * row_blocks + row / 128) * hw::kScaleBytes + row % 32 * 16 +
         row % 128 / 32 * 4 + block % 4;
}

// Products that a launch computes of each stage, and matrices that the packed weights are of.
THRESHER_DEVICE constexpr u32 products_per_tile(Product product) {
  return product == Product::kDual ? 2 : 1;
}
THRESHER_DEVICE constexpr u32 packed_matrices(Product product) {
  return static_cast<u32>(rows_per_column(product));
}
// The matrix that the first product multiplies.
THRESHER_DEVICE constexpr u32 first_matrix(Product product) {
  return product == Product::kUpPass ? 1 : 0;
}

// Blocks that an MMA multiplies in: a pair, or one.
THRESHER_DEVICE constexpr int blocks_per_mma(const GemmConfig& config) {
  return gpu::blocks_per_mma(config.mma, config.weight_rows);
}
// Whether two blocks have the same weights, and half of a tile's tokens each.
THRESHER_DEVICE constexpr bool shares_weights(const GemmConfig& config) {
  return config.loads == Loads::kMulticast;
}

// Of a pair of blocks, which compute 256 rows together, each has 128 rows of weights with their
// sums and scales, half of the tokens' codes, and all of the tokens' scales. Of two that share
// weights each has all of its own tokens.
THRESHER_DEVICE constexpr u32 block_tokens(const GemmConfig& config) {
  return static_cast<u32>(config.tokens / token_sharers(config));
}
// Tokens that a block has sums and scales of.
THRESHER_DEVICE constexpr u32 mma_tokens(const GemmConfig& config) {
  return block_tokens(config) * static_cast<u32>(blocks_per_mma(config));
}

// Blocks of 128 rows that the scales of a block's tokens take.
THRESHER_DEVICE constexpr u32 token_row_blocks(const GemmConfig& config) {
  return divide_up(mma_tokens(config), 128u);
}

// Columns of tensor memory: sums by buffer and product, then scales by stage. Every stage has
// scales of its own: PTX orders no copy of scales behind the MMAs that read what it overwrites, but
// whoever knows that a stage is empty knows that they are complete.
struct TensorColumns {
  u32 sums = 0;  // of all buffers
  u32 buffers = 0;
  u32 a_scales = 0;  // of one product and stage
  u32 b_scales = 0;  // of one stage
  u32 used = 0;
  u32 allocated = 0;
};

THRESHER_DEVICE constexpr TensorColumns tensor_columns(const GemmConfig& config, u32 buffers) {
  const u32 products = products_per_tile(config.product);
  TensorColumns columns;
  columns.buffers = buffers;
  columns.sums = buffers * products * mma_tokens(config);
  columns.a_scales = kStepsPerTile * hw::kScaleColumns;
  columns.b_scales = columns.a_scales * token_row_blocks(config);
  columns.used = columns.sums +
                 static_cast<u32>(config.stages) * (products * columns.a_scales + columns.b_scales);
  for (columns.allocated = 32; columns.allocated < columns.used;) columns.allocated *= 2;
  return columns;
}

// What a block may have of an SM's.
THRESHER_DEVICE constexpr u32 tensor_columns_max(const GemmConfig& config) {
  u32 columns = hw::kTensorColumns;
  while (columns * static_cast<u32>(config.blocks_per_sm) > hw::kTensorColumns) columns /= 2;
  return columns;
}

// Two buffers of sums, so that a tile is stored while the next is multiplied; one where they do not
// fit.
THRESHER_DEVICE constexpr TensorColumns tensor_columns(const GemmConfig& config) {
  const TensorColumns two = tensor_columns(config, 2);
  return two.used <= tensor_columns_max(config) ? two : tensor_columns(config, 1);
}

// Results on their way through shared memory (store = staged): so many tokens at a time in either
// of two buffers; 16 bytes more per row spread the rows over the banks.
inline constexpr u32 kStagedTokens = 16;
THRESHER_DEVICE constexpr u32 staging_row_bytes(const GemmConfig& config) {
  return kTileRows * static_cast<u32>(element_bytes(stored_type(config))) + 16;
}
THRESHER_DEVICE constexpr u32 staging_bytes(const GemmConfig& config) {
  return config.store == Store::kStaged ? 2 * kStagedTokens * staging_row_bytes(config) : 0;
}

// Shared memory of a block, as offsets from its base.
struct TensorShared {
  u32 tokens = 0;  // codes by stage
  u32 weights = 0;
  u32 weight_stage_bytes = 0;
  u32 token_scales = 0;
  u32 token_scale_stage_bytes = 0;
  u32 staging = 0;
  u32 full = 0;   // by stage: barriers that loads complete
  u32 empty = 0;  // by stage: barriers that commits complete
  u32 sums_full = 0;
  u32 sums_empty = 0;
  u32 slot = 0;  // where tensor memory begins
  u32 flag = 0;  // one word to tell all threads that store something
  u32 book = 0;
  u32 bytes = 0;
};

THRESHER_DEVICE constexpr TensorShared tensor_shared(const GemmConfig& config) {
  const u32 stages = static_cast<u32>(config.stages);
  TensorShared layout;
  layout.weights = stages * block_tokens(config) * kCodeRowBytes;
  layout.weight_stage_bytes = products_per_tile(config.product) * kTileBytes;
  layout.token_scales = layout.weights + stages * layout.weight_stage_bytes;
  layout.token_scale_stage_bytes = token_row_blocks(config) * kTileScaleBytes;
  layout.staging = layout.token_scales + stages * layout.token_scale_stage_bytes;
  layout.full = layout.staging + staging_bytes(config);
  layout.empty = layout.full + 8 * stages;
  layout.sums_full = layout.empty + 8 * stages;
  layout.sums_empty = layout.sums_full + 16;
  layout.slot = layout.sums_empty + 16;
  layout.flag = layout.slot + 4;
  layout.book = round_up(layout.flag + 4, 16);
  layout.bytes = layout.book + kBookBytes;
  return layout;
}

}  // namespace thresher::gpu::sm100
