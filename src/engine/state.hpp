// SPDX-License-Identifier: Apache-2.0
// What stands behind the handles of thresher/engine.hpp.
#pragma once

#include <string>

#include "cpu/packed_weights.hpp"
#include "cpu/plan.hpp"
#include "thresher/engine.hpp"

namespace thresher {

struct Weights::State {
  cpu::PackedWeights packed;
};

struct Plan::State {
  Problem problem;
  std::string variant;
  cpu::CpuPlan cpu;
};

}  // namespace thresher
