// SPDX-License-Identifier: Apache-2.0
// A Hopper GPU as a device of the engine.
#pragma once

#include <memory>

#include "gpu/runtime/gpu.hpp"

namespace thresher::gpu::sm90 {

inline constexpr int kComputeMajor = 9;  // what the kernels are written for

std::unique_ptr<backend::Device> open_device(const Backend& backend, Gpu gpu, std::string name);

}  // namespace thresher::gpu::sm90
