// SPDX-License-Identifier: Apache-2.0
// What `thresher doctor` says about GPUs: the driver, each device, the compiler, or for each the
// sentence why it is not there.
#pragma once

#include <vector>

#include "backend/backend.hpp"
#include "gpu/runtime/driver.hpp"
#include "gpu/runtime/nvrtc.hpp"

namespace thresher::gpu {

std::vector<ReportLine> device_report(const DriverLookup& lookup, const NvrtcLookup& nvrtc);

}  // namespace thresher::gpu
