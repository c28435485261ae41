// SPDX-License-Identifier: Apache-2.0
// From sums to values of C: factors, SiLU and product in FP32, one rounding to the output type. The
// steps are those of cpu/finish.hpp.
//
// A warpgroup's thread holds, per strip and octet of tokens, four sums: rows r and r+8 of two
// tokens side by side. What they are depends on the product:
//   kGemm      two columns of C                        -> 2 x 2 values
//   kDual      gate and up of one column               -> 1 x 2 values
//   kGatePass  gate of columns of two sub-tiles        -> 2 x 2 values
//   kUpPass    up of columns of two sub-tiles; the gate comes from the workspace
#pragma once

#include "gpu/gemm/kernels/gemm_args.hpp"
#include "gpu/gemm/kernels/gemm_config.hpp"
#include "gpu/gemm/kernels/silu.cuh"
#include "gpu/gemm/kernels/tile_walk.cuh"
#include "gpu/hw/hw.cuh"

namespace thresher::gpu {

// Column groups of 8 that a strip gives a warp, and where they begin in the strip's columns.
THRESHER_DEVICE constexpr int halves_of(Product product) {
  return product == Product::kDual ? 1 : 2;
}

THRESHER_DEVICE constexpr int first_column(Product product, int warp, int half) {
  if (product == Product::kGemm) return 16 * warp + 8 * half;
  return 32 * half + 8 * warp;
}

// Values of one octet of tokens: [half][token % 2], for the thread's column and its two tokens.
template <Product kProduct>
struct OctetValues {
  float of[halves_of(kProduct)][2];
};

// `unit`: what sums must be multiplied by to be those of the true values.
THRESHER_DEVICE Factor load_factor(const Factor& factor, float unit) {
  return {hw::load_global(&factor.main) * unit, hw::load_global(&factor.rest)};
}

THRESHER_DEVICE float apply(const Factor& factor, float sum) {
  return sum * factor.main * factor.rest;
}

// What a warpgroup must know of a tile to finish it.
template <GemmConfig kConfig>
struct TileOutput {
  using Group = GroupWalkOf<kConfig>;

  Factor factor;
  Factor factor_up;
  u32 token_count;   // in the tile; what is beyond is not stored
  u32 column_count;  // in the tile
  u8* c;             // the tile's first element
  u64 row_bytes;     // from one token to the next
  const float* gates;
  u64 gate_stride_elements;

  THRESHER_DEVICE TileOutput(const GemmArgs& args, const Tile& tile, const Group& group) {
    const GroupEntry& entry = group.entry();
    const u32 first_token = tile.first_token;
    const u32 column = tile.row_tile * columns_per_tile(kConfig);
    token_count = group.token_count - first_token;
    column_count = group.n - column;
    const bool up_only = kConfig.product == Product::kUpPass;
    const float unit = sum_unit(kConfig);
    factor = up_only ? Factor{} : load_factor(entry.factor, unit);
    factor_up = kConfig.product == Product::kDual || up_only ? load_factor(entry.factor_up, unit)
                                                             : Factor{};

    // Hidden by a shuffle: as a constant of the launch the compiler would multiply it by every
    // token's number beforehand, and run out of registers.
    gate_stride_elements =
        is_pass(kConfig.product) ? hw::broadcast(static_cast<u32>(args.gate_stride_elements)) : 0;
    float* tile_gates =
        args.gates + (group.first_token + u64{first_token}) * gate_stride_elements + column;
    gates = tile_gates;
    constexpr u32 kElementBytes = element_bytes(stored_type(kConfig));
    if (kConfig.product == Product::kGatePass) {
      c = reinterpret_cast<u8*>(tile_gates);
      row_bytes = gate_stride_elements * kElementBytes;
    } else {
      const RowsTable& rows = args.table.rows;
      const bool follow = args.table.rows_follow();
      row_bytes = (follow ? rows.c_stride_elements : hw::load_global(&entry.c_stride_elements)) *
                  kElementBytes;
      c = reinterpret_cast<u8*>(follow ? rows.c : hw::load_global(&entry.c)) +
          (group.row_offset() + first_token) * row_bytes + u64{column} * kElementBytes;
    }
  }

  // Leaves out the first columns, which are others' to finish.
  THRESHER_DEVICE void skip_columns(u32 columns) {
    c += u64{columns} * element_bytes(stored_type(kConfig));
    gates += columns;
    column_count = column_count > columns ? column_count - columns : 0;
  }

  // Likewise tokens.
  THRESHER_DEVICE void skip_tokens(u32 tokens) {
    c += tokens * row_bytes;
    gates += tokens * gate_stride_elements;
    token_count = token_count > tokens ? token_count - tokens : 0;
  }

  // Of a token and column of the tile; zero where C ends, so that nothing beyond is read.
  THRESHER_DEVICE float gate(u32 token, u32 column) const {
    if (token >= token_count || column >= column_count) return 0.0f;
    return hw::load_global(gates + token * gate_stride_elements + column);
  }

  // `sums` are the thread's four, `token` and `column` the place of the first one in the tile.
  THRESHER_DEVICE OctetValues<kConfig.product> values(const float* sums, u32 token,
                                                      u32 column) const {
    OctetValues<kConfig.product> result;
    // Keeps the compiler from loading more gates ahead than there are registers for.
    if constexpr (kConfig.product == Product::kUpPass) hw::sync_warp();
    THRESHER_UNROLL
    for (int i = 0; i < 2; ++i) {
      if constexpr (kConfig.product == Product::kDual) {
        result.of[0][i] = silu(apply(factor, sums[i])) * apply(factor_up, sums[2 + i]);
      } else {
        THRESHER_UNROLL
        for (int half = 0; half < 2; ++half) {
          const float sum = sums[2 * half + i];
          if constexpr (kConfig.product == Product::kUpPass) {
            const u32 half_column = column + first_column(kConfig.product, 0, half);
            result.of[half][i] = silu(gate(token + i, half_column)) * apply(factor_up, sum);
          } else {
            result.of[half][i] = apply(factor, sum);
          }
        }
      }
    }
    return result;
  }
};

template <OutputType kOutput>
struct StoredElementOf {
  using Type = u16;
};
template <>
struct StoredElementOf<OutputType::kFp32> {
  using Type = float;
};
template <OutputType kOutput>
using StoredElement = typename StoredElementOf<kOutput>::Type;

template <OutputType kOutput>
THRESHER_DEVICE u32 pack_pair(float low, float high) {
  static_assert(kOutput != OutputType::kFp32);
  return is_bf16(kOutput) ? hw::pack_bf16x2(low, high) : hw::pack_fp16x2(low, high);
}

template <OutputType kOutput>
THRESHER_DEVICE void round_pair(const float (&values)[2], StoredElement<kOutput> (&out)[2]) {
  if constexpr (kOutput == OutputType::kFp32) {
    out[0] = values[0];
    out[1] = values[1];
  } else {
    const u32 pair = pack_pair<kOutput>(values[0], values[1]);
    out[0] = static_cast<u16>(pair & 0xffff);
    out[1] = static_cast<u16>(pair >> 16);
  }
}

}  // namespace thresher::gpu
