// SPDX-License-Identifier: Apache-2.0
// Stores a tile from registers to C, element by element. Eight lanes hold neighbouring columns of
// one token, so a store touches four pieces of C, 16 bytes (or 32) each.
#pragma once

#include "gpu/gemm/kernels/gemm_values.cuh"
#include "gpu/gemm/kernels/stage_ring.cuh"
#include "gpu/gemm/kernels/sums.cuh"
#include "gpu/hw/hw.cuh"

namespace thresher::gpu {

template <GemmConfig kConfig>
class StoreDirect {
 public:
  THRESHER_DEVICE explicit StoreDirect(hw::SharedAddress) {}

  template <int kWidth>
  THRESHER_DEVICE void store(const TileOutput<kConfig>& output,
                             const Sums<kConfig, kWidth>& sums) const {
    store_strip<kWidth, 0>(output, sums);
  }

  THRESHER_DEVICE static void finish() {}

 private:
  static constexpr OutputType kOutput = stored_type(kConfig);

  // Recursion, because the loop is too long for the compiler to unroll, and sums must have constant
  // indices to stay in registers.
  template <int kWidth, int kStrip>
  THRESHER_DEVICE static void store_strip(const TileOutput<kConfig>& output,
                                          const Sums<kConfig, kWidth>& sums) {
    const int warpgroup = hidden_warpgroup<int>();
    const int strip = warpgroup * strips_per_warpgroup(kConfig) + kStrip;
    const u32 token = static_cast<u32>(hw::lane_index() % 4 * 2);
    const u32 column = static_cast<u32>(strip * columns_per_strip(kConfig.product) +
                                        first_column(kConfig.product, hw::warp_index() % 4, 0) +
                                        hw::lane_index() / 4);
    u8* at = output.c + token * output.row_bytes + u64{column} * element_bytes(kOutput);
    store_octet<kWidth, 0>(output, sums[kStrip], token, column, at);
    if constexpr (kStrip + 1 < strips_per_warpgroup(kConfig)) {
      store_strip<kWidth, kStrip + 1>(output, sums);
    }
  }

  // `at` is where the octet's first value goes, `token` and `column` say the same.
  template <int kWidth, int kOctet>
  THRESHER_DEVICE static void store_octet(const TileOutput<kConfig>& output,
                                          const float (&sums)[kWidth / 2], u32 token, u32 column,
                                          u8* at) {
    const auto values = output.values(&sums[4 * kOctet], token, column);
    THRESHER_UNROLL
    for (int half = 0; half < halves_of(kConfig.product); ++half) {
      const u32 further = static_cast<u32>(first_column(kConfig.product, 0, half));
      if (column + further >= output.column_count) continue;
      u8* first = at + further * element_bytes(kOutput);
      store_pair(first, token < output.token_count, first + output.row_bytes,
                 token + 1 < output.token_count, values.of[half]);
    }
    if constexpr (kOctet + 1 < kWidth / 8) {
      store_octet<kWidth, kOctet + 1>(output, sums, token + 8, column, at + 8 * output.row_bytes);
    }
  }

  THRESHER_DEVICE static void store_pair(u8* first, bool stores_first, u8* second,
                                         bool stores_second, const float (&values)[2]) {
    using Element = StoredElement<kOutput>;
    Element elements[2];
    round_pair<kOutput>(values, elements);
    if (stores_first) hw::store_global(reinterpret_cast<Element*>(first), elements[0]);
    if (stores_second) hw::store_global(reinterpret_cast<Element*>(second), elements[1]);
  }
};

}  // namespace thresher::gpu
