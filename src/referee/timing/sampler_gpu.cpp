// SPDX-License-Identifier: Apache-2.0
// Samples on a GPU: batches of calls that go round several copies of the weights (rotation.hpp).
#include <fmt/format.h>

#include <array>
#include <memory>
#include <vector>

#include "referee/stage/gpu_copies.hpp"
#include "referee/stage/outputs.hpp"
#include "referee/timing/gpu_arm.hpp"
#include "referee/timing/referee_gpu.hpp"
#include "referee/timing/sampler.hpp"

namespace thresher::referee {
namespace {

std::vector<GpuEntry> entries_of(const Contest& contest) {
  const std::size_t l2_bytes = contest.arm.gpu->device().properties().l2_bytes;
  std::vector<GpuEntry> entries;
  for (const Problem& problem : contest.suite.problems) {
    const double floor_ns = contest.light.floor_ns(problem);
    entries.push_back({problem, rotation_for(problem, floor_ns, l2_bytes, contest.cold)});
  }
  return entries;
}

// More or other launches than so many calls have, where each has `one`.
std::optional<Fault> find_launch_fault(const Problem& problem, int call_count,
                                       const gpu::LaunchCounts& one, const BatchReport& report) {
  const gpu::LaunchCounts planned{call_count * one.kernels, call_count * one.graphs};
  const gpu::LaunchCounts counted{report.kernel_count, report.graph_count};
  if (counted == planned) return std::nullopt;
  return invalid(check::kLaunches,
                 fmt::format("problem '{}': {} kernels and {} graphs were launched for {} calls, "
                             "{} and {} were planned",
                             problem.name, counted.kernels, counted.graphs, call_count,
                             planned.kernels, planned.graphs));
}

class GpuSampler final : public Sampler {
 public:
  GpuSampler(const Contest& contest, GpuCopies& copies, Random& random)
      : contest_(contest), copies_(copies), random_(random) {
    copies_.turn(random_);
    for (const Role role : in_random_order(random_)) {
      arms_[static_cast<std::size_t>(role)] =
          std::make_unique<GpuArm>(side_of(contest, role).job, copies_.stage(), copies_.entries(),
                                   contest.arm, random_.next());
    }
  }

  Arm& arm(Role role) override { return gpu_arm(role); }

  // All copies of all problems.
  std::optional<Fault> prepare(Role role) override {
    std::optional<Fault> fault;
    for (const StagedProblem& staged : copies_.all()) {
      if (!fault) fault = arm(role).prepare(staged);
    }
    return fault;
  }

  double begin_row() override { return 0; }       // copies take turns instead
  int repeats_max() const override { return 1; }  // a batch is a sample
  void draw(int) override {}                      // a batch draws its own, call by call

  TimedSample sample(Role role, int problem_index, double slowed_share) override {
    const auto index = static_cast<std::size_t>(problem_index);
    const GpuEntry& entry = copies_.entries()[index];
    const std::span<StagedProblem> copies = copies_.of(problem_index);
    const int call_count = entry.rotation.call_count;
    BatchResult result =
        gpu_arm(role).batch(copies, {.call_count = call_count,
                                     .inspected_count = inspected_count_for(call_count, batches()),
                                     .slowed_share = slowed_share});
    const std::vector<gpu::LaunchCounts>& launches = side_of(contest_, role).launches;
    if (!result.fault && result.report && !launches.empty()) {
      result.fault = find_launch_fault(entry.problem, call_count, launches[index], *result.report);
    }
    if (!result.fault) result.fault = check_light(contest_, role, entry.problem, result.ns);
    if (!result.fault) result.fault = find_wrong_call(problem_index, std::move(result.inspected));
    return {.fault = std::move(result.fault), .ns = result.ns};
  }

  bool weights_intact() const override { return copies_.intact(); }

 private:
  // Of a problem and an arm in the shortest match that decides: two in every block.
  int batches() const { return 2 * contest_.heats_min * contest_.blocks_per_problem; }

  GpuArm& gpu_arm(Role role) { return *arms_[static_cast<std::size_t>(role)]; }

  // What the witness says of the calls that were looked at. It has the device, or all cores, to
  // itself; a copy's inputs hold the activations of one call at a time.
  std::optional<Fault> find_wrong_call(int problem_index, std::vector<InspectedCall> calls) {
    measure::Witness& witness = copies_.witness_of(problem_index);
    const std::span<StagedProblem> copies = copies_.of(problem_index);
    std::optional<Fault> fault;
    for (InspectedCall& call : calls) {
      if (fault) break;
      StagedProblem& copy = copies[call.copy_index];
      Inputs own = activations_of(copy.inputs);
      put_activations(std::move(call.activations), copy.inputs);
      witness.testify(copy.inputs, copies_.signs_of(problem_index)[call.copy_index]);
      fault = find_timed_fault(witness, copy.problem, call.outputs, call.family);
      put_activations(std::move(own), copy.inputs);
    }
    return fault;
  }

  const Contest& contest_;
  GpuCopies& copies_;
  Random& random_;
  std::array<std::unique_ptr<GpuArm>, std::size(kRoles)> arms_;  // by role
};

}  // namespace

Samplers gpu_samplers(const Contest& contest, Random& random) {
  const auto copies = std::make_shared<GpuCopies>(contest.arm.gpu->device(), *contest.arm.engine,
                                                  entries_of(contest), random);
  return [&contest, copies](Random& heat_random) {
    return std::make_unique<GpuSampler>(contest, *copies, heat_random);
  };
}

}  // namespace thresher::referee
