// SPDX-License-Identifier: Apache-2.0
// Checks of a call's operands against its plan, the same for every device. Cheap ones run on every
// call; the search for overlapping buffers sorts all of them and is left to Engine::check.
#pragma once

#include "backend/device.hpp"
#include "thresher/engine.hpp"

namespace thresher {

// Throws Error naming the group, the operand, the value and what the plan expects.
void check_operands(const backend::Device& device, const backend::Plan& plan,
                    const Operands& operands);

// Rows of all groups, for a plan whose operands had them together.
void check_rows(const backend::Device& device, const backend::Plan& plan, const Rows& rows,
                const DeviceCounts& counts);

// Throws Error when an output overlaps another output or an input.
void check_overlap(const backend::Plan& plan, const Operands& operands);

}  // namespace thresher
