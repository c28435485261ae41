// SPDX-License-Identifier: Apache-2.0
// The CPU as one device.
#pragma once

#include "cpu/features.hpp"

namespace thresher::cli {

// A device has one speed of light, that of the best instructions it has, whichever a variant uses.
cpu::Isa best_isa();

}  // namespace thresher::cli
