// SPDX-License-Identifier: Apache-2.0
// The launches around the products of a layer: numbers and arguments, for the driver and for the
// emulator.
#pragma once

#include "backend/layer.hpp"
#include "backend/machine.hpp"
#include "gpu/sm90/kernels/layer_args.hpp"

namespace thresher::gpu::sm90 {

// What the addresses of x and out, and those of their rows, must be multiples of.
inline constexpr std::size_t kLayerRowAlignment = 16;

struct LayerLaunch {
  int block_count = 0;
  int thread_count = kLayerThreads;
  std::uint32_t shared_bytes = 0;
  LayerArgs args;
};

LayerConfig layer_config(const backend::LayerShape& shape, LayerStep step);

LayerLaunch layer_launch(const backend::LayerShape& shape, const backend::LayerMemory& memory,
                         LayerStep step, const MoeTokens& tokens, const SmLimits& limits);

}  // namespace thresher::gpu::sm90
