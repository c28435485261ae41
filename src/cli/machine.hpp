// SPDX-License-Identifier: Apache-2.0
// The machine as one device: its name, its best instruction set, and its ceilings as rates.
#pragma once

#include <string>

#include "cpu/calibrate.hpp"
#include "gemm/backend.hpp"
#include "gemm/speed_of_light.hpp"
#include "gpu/calibrate.hpp"

namespace thresher::cli {

// A device has one speed of light, that of the best instructions it has, whichever a variant uses.
cpu::Isa best_isa();

MachineRates machine_rates(const cpu::Ceilings& ceilings);
MachineRates machine_rates(const gpu::GpuCeilings& ceilings);

// "AMD EPYC 7763", "NVIDIA H200": what constraints and tables call the device. For a GPU there must
// be one.
std::string device_name(Backend backend);

}  // namespace thresher::cli
