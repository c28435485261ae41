// SPDX-License-Identifier: Apache-2.0
// Checks of a call's operands against its plan. Cheap ones run on every call; the search for
// overlapping buffers sorts all of them and is left to Engine::check.
#pragma once

#include <span>

#include "thresher/engine.hpp"

namespace thresher {

// Throws Error naming the group, the operand, the value and what the plan expects.
void check_operands(const Problem& problem, std::span<const GroupOperands> operands);

// Throws Error when an output overlaps another output or an input.
void check_overlap(const Problem& problem, std::span<const GroupOperands> operands);

// What the sums of a group are multiplied by: alpha and the global scales. In double, so that each
// is rounded once whatever the order of its parts. gemm uses `gate` only.
struct Factors {
  double gate = 1.0;
  double up = 1.0;
};
Factors factors_of(Activations activations, const GroupOperands& operands);

// Rows of C are this many elements apart.
inline std::int64_t c_stride(const Group& group, const GroupOperands& operands) {
  return operands.c_stride_elements == 0 ? group.n : operands.c_stride_elements;
}

}  // namespace thresher
