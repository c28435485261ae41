// SPDX-License-Identifier: Apache-2.0
// A step of a layer as source text for the run-time compiler; its kernel takes one LayerArgs.
#pragma once

#include <string>

#include "gpu/layer/kernels/layer_args.hpp"

namespace thresher::gpu {

std::string entry_source(const LayerConfig& config);

}  // namespace thresher::gpu
