// SPDX-License-Identifier: Apache-2.0
// Which of the ways to store a tile a config means.
#pragma once

#include "gpu/gemm/kernels/store_direct.cuh"
#include "gpu/gemm/kernels/store_dual.cuh"
#include "gpu/gemm/kernels/store_staged.cuh"

namespace thresher::gpu {

template <GemmConfig kConfig>
struct StoreOf {
  using Type = StoreDirect<kConfig>;
};
template <GemmConfig kConfig>
requires(kConfig.store != Store::kDirect && !stages_pairs(kConfig)) struct StoreOf<kConfig> {
  using Type = StoreStaged<kConfig>;
};
template <GemmConfig kConfig>
requires(stages_pairs(kConfig)) struct StoreOf<kConfig> {
  using Type = StoreDual<kConfig>;
};

}  // namespace thresher::gpu
