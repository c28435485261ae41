// SPDX-License-Identifier: Apache-2.0
// The CPU as a device: a pool of threads, and host memory.
#pragma once

#include <memory>

#include "backend/device.hpp"

namespace thresher::cpu {

std::unique_ptr<backend::Device> open_device(const EngineOptions& options);

}  // namespace thresher::cpu
