// SPDX-License-Identifier: Apache-2.0
// What a tile's MMAs leave in registers, and what stores and sums of parts are made from.
#pragma once

#include "gpu/gemm/kernels/gemm_config.hpp"
#include "gpu/hw/hw.cuh"

namespace thresher::gpu {

// Sums of one warpgroup for a tile: per strip 64 rows x the tile's width, laid out as the MMA
// leaves them.
template <GemmConfig kConfig, int kWidth>
using Sums = float[strips_per_warpgroup(kConfig)][kWidth / 2];

template <GemmConfig kConfig, int kWidth>
THRESHER_DEVICE void set_to_zero(Sums<kConfig, kWidth>& sums) {
  THRESHER_UNROLL
  for (int strip = 0; strip < strips_per_warpgroup(kConfig); ++strip) {
    THRESHER_UNROLL
    for (int i = 0; i < kWidth / 2; ++i) sums[strip][i] = 0.0f;
    hw::hide(sums[strip]);
  }
}

}  // namespace thresher::gpu
