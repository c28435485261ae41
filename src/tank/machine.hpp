// SPDX-License-Identifier: Apache-2.0
// The machine of a season as plain numbers: all that plans and models of its variants depend on.
#pragma once

#include "gemm/speed_of_light.hpp"
#include "gpu/sm90/gemm_plan.hpp"

namespace thresher {

struct Machine {
  MachineRates rates;              // of the backend that the season is played on
  int thread_count = 1;            // of a variant of the CPU
  gpu::sm90::DeviceLimits limits;  // of a variant of the GPU
};

}  // namespace thresher
