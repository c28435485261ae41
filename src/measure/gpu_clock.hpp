// SPDX-License-Identifier: Apache-2.0
// The clock of a GPU: events around many calls, in the surroundings that were asked for.
#pragma once

#include <memory>

#include "gpu/runtime/gpu.hpp"
#include "measure/clock.hpp"

namespace thresher::measure {

std::unique_ptr<Clock> make_gpu_clock(const gpu::Gpu& gpu, const ClockOptions& options);

}  // namespace thresher::measure
