// SPDX-License-Identifier: Apache-2.0
// The inputs of a problem as the engine takes them: weights packed, operands for a call.
#pragma once

#include <vector>

#include "cli/guarded_outputs.hpp"
#include "gemm/inputs.hpp"
#include "thresher/engine.hpp"

namespace thresher::cli {

// Refers to `inputs`, which must live as long.
class PackedProblem {
 public:
  PackedProblem(const Engine& engine, const Problem& problem, const Inputs& inputs);

  // Point into this object and into `outputs`.
  std::vector<GroupOperands> operands(const GuardedOutputs& outputs) const;

 private:
  const Inputs& inputs_;
  std::vector<Weights> weights_;
};

}  // namespace thresher::cli
