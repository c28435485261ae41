// SPDX-License-Identifier: Apache-2.0
// What the arms of a heat on the CPU run on, and how a sample is taken there: single calls.
#pragma once

#include <optional>
#include <vector>

#include "gemm/random.hpp"
#include "referee/stage/stage.hpp"
#include "referee/timing/arm.hpp"
#include "referee/timing/contest.hpp"

namespace thresher::referee {

class CpuCourse {
 public:
  using Arm = referee::Arm;

  // `random` is the heat's.
  CpuCourse(const Contest& contest, Random& random);

  Arm arm(const Side& side);
  // All problems.
  std::optional<Fault> prepare(Arm& arm);
  TimedSample warm_up(Arm& arm, int problem_index) { return call(arm, problem_index, 0); }
  // Fixes how many calls make a sample, from the time of one.
  void settle(int problem_index, double call_ns);
  TimedSample sample(Arm& arm, int problem_index, double slowed_share);
  bool weights_intact() const;

 private:
  TimedSample call(Arm& arm, int problem_index, double slowed_share);
  std::optional<Fault> warm_caches(Arm& arm, StagedProblem& staged);

  const Contest& contest_;
  Random& random_;
  Stage stage_;
  std::vector<StagedProblem> staged_;
  std::vector<std::size_t> call_counts_;  // per sample, by problem
};

}  // namespace thresher::referee
