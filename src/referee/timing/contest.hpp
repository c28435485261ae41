// SPDX-License-Identifier: Apache-2.0
// What all heats of a match have in common.
#pragma once

#include <vector>

#include "gemm/suite.hpp"
#include "gpu/runtime/device.hpp"
#include "referee/timing/contestant_process.hpp"
#include "referee/timing/light.hpp"
#include "referee/timing/referee_gpu.hpp"

namespace thresher::referee {

// A contestant after the build gate.
struct Side {
  Job job;
  // On a GPU: launches of one call, by problem of the suite. Empty where they cannot be seen.
  std::vector<gpu::LaunchCounts> launches;
};

struct Contest {
  const Suite& suite;
  Side champion;
  Side challenger;
  ArmOptions arm;
  const Light& light;
  int blocks_per_problem = 3;
  bool cold = true;
  // The champion takes this much longer in the match itself: a gain of known size, for testing the
  // referee.
  double champion_slowed_share = 0;
  const RefereeGpu* gpu = nullptr;  // where the match is on one
};

// One timed sample, checked in every way there is.
struct TimedSample {
  std::optional<Fault> fault;
  double ns = 0;
};

}  // namespace thresher::referee
