// SPDX-License-Identifier: Apache-2.0
// The machine as one device: its name and its best instruction set.
#pragma once

#include <string>

#include "cpu/features.hpp"
#include "gemm/backend.hpp"

namespace thresher::cli {

// A device has one speed of light, that of the best instructions it has, whichever a variant uses.
cpu::Isa best_isa();

// "AMD EPYC 7763", "NVIDIA H200": what constraints and tables call the device. For a GPU there must
// be one.
std::string device_name(Backend backend);

}  // namespace thresher::cli
