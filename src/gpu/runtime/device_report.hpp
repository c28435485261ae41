// SPDX-License-Identifier: Apache-2.0
// What `thresher doctor` says about GPUs: the driver, each device, the compiler, or for each the
// sentence why it is not there.
#pragma once

#include <string>
#include <vector>

#include "gpu/runtime/driver.hpp"
#include "gpu/runtime/nvrtc.hpp"

namespace thresher::gpu {

struct ReportLine {
  std::string name;
  std::string value;
  bool good = true;  // false: something is missing, and `value` says what to do
};

std::vector<ReportLine> device_report(const DriverLookup& lookup, const NvrtcLookup& nvrtc);

}  // namespace thresher::gpu
