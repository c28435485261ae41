// SPDX-License-Identifier: Apache-2.0
// What surrounds the products of a layer, as launches on a GPU.
#pragma once

#include <memory>

#include "backend/layer.hpp"
#include "backend/machine.hpp"
#include "gpu/runtime/gpu.hpp"

namespace thresher::gpu {

std::unique_ptr<backend::LayerSteps> layer_steps(const Gpu& gpu, const SmLimits& limits,
                                                 const backend::LayerShape& shape,
                                                 const backend::LayerMemory& memory);

}  // namespace thresher::gpu
