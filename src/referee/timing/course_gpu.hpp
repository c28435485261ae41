// SPDX-License-Identifier: Apache-2.0
// What the arms of a heat on a GPU run on, and how a sample is taken there: batches of calls that
// go round several copies of the weights (rotation.hpp).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gemm/random.hpp"
#include "referee/stage/gpu_copies.hpp"
#include "referee/timing/contest.hpp"
#include "referee/timing/gpu_arm.hpp"

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

  // What all heats of a match go on.
  static std::unique_ptr<GpuCopies> copies_for(const Contest& contest, Random& random);

  // `random` is the heat's.
  GpuCourse(const Contest& contest, GpuCopies& copies, Random& random);

  Arm arm(const Side& side);
  // All copies of all problems.
  std::optional<Fault> prepare(Arm& arm);
  TimedSample warm_up(Arm& arm, int problem_index) { return sample(arm, problem_index, 0); }
  void settle(int, double) {}  // a batch is a sample
  TimedSample sample(Arm& arm, int problem_index, double slowed_share);
  bool weights_intact() const { return copies_.intact(); }

 private:
  // What the oracle says of the calls that were looked at.
  std::optional<Fault> find_wrong_call(std::span<StagedProblem> copies,
                                       std::vector<InspectedCall> calls);

  const Contest& contest_;
  GpuCopies& copies_;
  Random& random_;
};

}  // namespace thresher::referee
