// SPDX-License-Identifier: Apache-2.0
#include "cli/machine.hpp"

#include "assert.hpp"
#include "cpu/features.hpp"
#include "gpu/runtime/device.hpp"

namespace thresher::cli {

cpu::Isa best_isa() { return cpu::runnable_isas().back(); }

std::string device_name(Backend backend) {
  if (backend != Backend::kGpu) return cpu::cpu_model();
  const gpu::DriverLookup& found = gpu::find_driver();
  THRESHER_ASSERT(found.driver != nullptr);
  return gpu::device_properties(*found.driver, 0).name;
}

}  // namespace thresher::cli
