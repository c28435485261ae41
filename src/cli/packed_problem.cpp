// SPDX-License-Identifier: Apache-2.0
#include "cli/packed_problem.hpp"

namespace thresher::cli {

PackedProblem::PackedProblem(const Engine& engine, const Problem& problem, const Inputs& inputs)
    : inputs_(inputs) {
  for (const GroupInputs& group : inputs.groups) {
    const bool is_dual = problem.op == Op::kDual;
    weights_.push_back(is_dual ? engine.pack_dual(group.b.view(), group.b_up.view())
                               : engine.pack(group.b.view()));
  }
}

std::vector<GroupOperands> PackedProblem::operands(const GuardedOutputs& outputs) const {
  std::vector<GroupOperands> operands;
  for (std::size_t g = 0; g < weights_.size(); ++g) {
    const GroupInputs& group = inputs_.groups[g];
    operands.push_back({.a = group.a.view(),
                        .a16 = group.a16.data(),
                        .weights = &weights_[g],
                        .c = outputs.c(g),
                        .c_stride_elements = outputs.stride_elements(g),
                        .alpha = group.alpha,
                        .alpha_up = group.alpha_up});
  }
  return operands;
}

}  // namespace thresher::cli
