// SPDX-License-Identifier: Apache-2.0
// The machine as one device: its best instruction set, and its ceilings as rates.
#pragma once

#include "cpu/calibrate.hpp"
#include "gemm/speed_of_light.hpp"

namespace thresher::cli {

// A device has one speed of light, that of the best instructions it has, whichever a variant uses.
cpu::Isa best_isa();

MachineRates machine_rates(const cpu::Ceilings& ceilings);

}  // namespace thresher::cli
