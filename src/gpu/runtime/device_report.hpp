// SPDX-License-Identifier: Apache-2.0
// What `thresher doctor` says about GPUs: the driver, each device, the compiler, or for each the
// sentence why it is not there. What verdicts say of one.
#pragma once

#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/driver.hpp"
#include "gpu/runtime/nvrtc.hpp"

namespace thresher::gpu {

std::vector<ReportLine> device_report(const DriverLookup& lookup, const NvrtcLookup& nvrtc);

// "NVIDIA H200, 132 SMs, up to 1.98 GHz"
std::string machine_class(const DeviceProperties& device);

}  // namespace thresher::gpu
