// SPDX-License-Identifier: Apache-2.0
// The CPU's model of time: token tiles and tasks, and how evenly those fill the threads. No clock.
#pragma once

#include "backend/backend.hpp"
#include "cpu/variant.hpp"

namespace thresher::cpu {

// `variant` must support `problem` on `machine`.
ModelledRun modelled_run(const Problem& problem, const Variant& variant, const Machine& machine);

}  // namespace thresher::cpu
