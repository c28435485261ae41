// SPDX-License-Identifier: Apache-2.0
// What the arms of a round on a GPU run on, and how a sample is taken there: batches of calls that
// go round several copies of the weights (rotation.hpp).
#pragma once

#include <optional>
#include <vector>

#include "gemm/random.hpp"
#include "referee/contest.hpp"
#include "referee/gpu_arm.hpp"
#include "referee/gpu_stage.hpp"

namespace thresher::referee {

// Also knows how many launches a call may take.
class TimedGpuArm : public GpuArm {
 public:
  TimedGpuArm(const Side& side, GpuStage& stage, std::span<const GpuEntry> entries,
              const ArmOptions& options, std::uint64_t seed)
      : GpuArm(side.job, stage, entries, options, seed), launches_(side.launches) {}

  // More or other launches than so many calls of the problem have.
  std::optional<Fault> find_launch_fault(const Problem& problem, int problem_index, int call_count,
                                         const std::optional<BatchReport>& report) const;

 private:
  const std::vector<gpu::LaunchCounts> launches_;
};

class GpuCourse {
 public:
  using Arm = TimedGpuArm;

  // `random` is the round's.
  GpuCourse(const Contest& contest, Random& random);

  Arm arm(const Side& side);
  // All copies of all problems.
  std::optional<Fault> prepare(Arm& arm);
  TimedSample warm_up(Arm& arm, int problem_index) { return sample(arm, problem_index, 0); }
  void settle(int, double) {}  // a batch is a sample
  TimedSample sample(Arm& arm, int problem_index, double slowed_share);
  bool weights_intact() const;

 private:
  const Contest& contest_;
  Random& random_;
  const std::vector<GpuEntry> entries_;
  GpuStage stage_;
  std::vector<std::vector<StagedProblem>> copies_;  // by problem
};

}  // namespace thresher::referee
