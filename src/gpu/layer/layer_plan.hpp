// SPDX-License-Identifier: Apache-2.0
// The launches around the products of a layer: numbers and arguments, for the driver and for the
// emulator.
#pragma once

#include <vector>

#include "backend/layer.hpp"
#include "backend/machine.hpp"
#include "gpu/layer/kernels/layer_args.hpp"

namespace thresher::gpu {

// What the addresses of x and out, and those of their rows, must be multiples of.
inline constexpr std::size_t kLayerRowAlignment = 16;

// Before that compute capability, kernels cannot wait for one another.
inline constexpr int kDependentLaunchMin = 90;

struct LayerLaunch {
  LayerConfig config;
  int block_count = 0;
  int thread_count = kLayerThreads;
  std::uint32_t shared_bytes = 0;
  LayerArgs args;
};

// Of every launch that a layer may ask for.
std::vector<LayerConfig> layer_configs(const backend::LayerShape& shape);

// Tokens of the largest call that the steps kFirst and kDown are for; 0: of none.
std::int64_t few_tokens_max(const backend::LayerShape& shape);

LayerLaunch layer_launch(const backend::LayerShape& shape, const backend::LayerMemory& memory,
                         LayerStep step, const MoeTokens& tokens, const SmLimits& limits);

}  // namespace thresher::gpu
