// SPDX-License-Identifier: Apache-2.0
// The machine model of the CPU backend: row tiles and tasks, and how evenly those fill the threads.
#pragma once

#include "cpu/variant.hpp"
#include "tank/machine_model.hpp"

namespace thresher {

// `variant` must support `problem` on `machine`.
ModelledRun modelled_cpu_run(const Problem& problem, const cpu::Variant& variant,
                             const Machine& machine);

}  // namespace thresher
