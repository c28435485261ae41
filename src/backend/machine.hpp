// SPDX-License-Identifier: Apache-2.0
// A machine as plain numbers: all that choices, plans and models of time of its variants depend on.
#pragma once

#include <cstdint>

#include "gemm/speed_of_light.hpp"

namespace thresher {

// What a GPU's blocks have to share. The numbers are an H200's; a device's own come from its
// driver.
struct SmLimits {
  int compute_capability = 90;  // major version times ten, and minor
  int sm_count = 132;
  std::int64_t shared_bytes_per_block = 227 << 10;
  std::int64_t shared_bytes_per_sm = 228 << 10;
};

struct Machine {
  MachineRates rates;    // zeros where nobody has measured them
  int thread_count = 1;  // of a CPU
  SmLimits limits;       // of a GPU
};

}  // namespace thresher
