// SPDX-License-Identifier: Apache-2.0
#include "cli/machine.hpp"

#include "cpu/features.hpp"

namespace thresher::cli {

cpu::Isa best_isa() { return cpu::runnable_isas().back(); }

}  // namespace thresher::cli
