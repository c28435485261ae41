// SPDX-License-Identifier: Apache-2.0
// A GPU as a device of the engine. Weights, plans and calls are the same on all of them; a
// variant's head says which architecture's kernels a plan launches.
#pragma once

#include <cstdint>
#include <memory>

#include "gpu/runtime/gpu.hpp"

namespace thresher::gpu {

// Whose kernels are chosen: the device's own, or those that every GPU since Ampere runs.
enum class KernelsOf : std::uint8_t { kDevice, kAmpere };

std::unique_ptr<backend::Device> open_device(const Backend& backend, Gpu gpu, std::string name,
                                             KernelsOf kernels = KernelsOf::kDevice);

}  // namespace thresher::gpu
