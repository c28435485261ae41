// SPDX-License-Identifier: Apache-2.0
// What surrounds the products of a layer: the GPU's kernels, run by the emulator as they are
// queued.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/layer.hpp"
#include "backend/machine.hpp"
#include "emulated/timeline.hpp"

namespace thresher::emulated {

std::unique_ptr<backend::LayerSteps> layer_steps(const backend::LayerShape& shape,
                                                 const backend::LayerMemory& memory,
                                                 const SmLimits& limits,
                                                 std::shared_ptr<Timeline> timeline,
                                                 std::uint64_t seed);

}  // namespace thresher::emulated
