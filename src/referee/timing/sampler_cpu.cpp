// SPDX-License-Identifier: Apache-2.0
// Samples on the CPU: single calls, with cold or warm caches.
#include <algorithm>
#include <vector>

#include "referee/stage/eviction.hpp"
#include "referee/stage/outputs.hpp"
#include "referee/timing/sampler.hpp"

namespace thresher::referee {
namespace {

// A kernel that takes its time to wake a process, or a host that takes a core away, spoils a short
// call by far more than its length. Of a problem with short calls a sample is the median of
// several: an odd number, enough to fill this time, and not too many.
constexpr double kSampleNs = 15e6;
constexpr int kCallsPerSampleMax = 5;

std::size_t calls_per_sample(double call_ns) {
  const int wanted = static_cast<int>(std::min<double>(kCallsPerSampleMax, kSampleNs / call_ns));
  return static_cast<std::size_t>(std::max(1, wanted - (wanted + 1) % 2));
}

class CpuSampler final : public Sampler {
 public:
  CpuSampler(const Contest& contest, Random& random)
      : contest_(contest),
        random_(random),
        stage_(contest.suite.problems, Room::kForAll),
        call_counts_(contest.suite.problems.size(), 1) {
    for (const Problem& problem : contest.suite.problems) {
      staged_.push_back(
          stage_.put(problem, make_inputs(problem, InputFamily::kNatural, random_.next())));
    }
    for (const Role role : kRoles) {
      arms_.push_back(make_cpu_arm(side_of(contest, role).job, stage_, contest.suite.problems,
                                   contest.arm, random_.next()));
    }
  }

  Arm& arm(Role role) override { return *arms_[static_cast<std::size_t>(role)]; }

  std::optional<Fault> prepare(Role role) override {
    std::optional<Fault> fault;
    for (const StagedProblem& staged : staged_) {
      if (!fault) fault = on_problem(staged.problem.name, arm(role).prepare(staged));
    }
    return fault;
  }

  TimedSample warm_up(Role role, int problem_index) override {
    return call(arm(role), problem_index, 0);
  }

  void settle(int problem_index, double champion_ns) override {
    call_counts_[static_cast<std::size_t>(problem_index)] = calls_per_sample(champion_ns);
  }

  TimedSample sample(Role role, int problem_index, double slowed_share) override {
    std::vector<double> ns;
    while (ns.size() < call_counts_[static_cast<std::size_t>(problem_index)]) {
      TimedSample one = call(arm(role), problem_index, slowed_share);
      if (one.fault) return one;
      ns.push_back(one.ns);
    }
    std::sort(ns.begin(), ns.end());
    return {.ns = ns[ns.size() / 2]};
  }

  bool weights_intact() const override {
    return std::all_of(staged_.begin(), staged_.end(),
                       [&](const StagedProblem& staged) { return stage_.weights_intact(staged); });
  }

 private:
  // With values nobody has seen.
  TimedSample call(Arm& arm, int problem_index, double slowed_share) {
    StagedProblem& staged = staged_[static_cast<std::size_t>(problem_index)];
    if (!contest_.cold) {
      if (std::optional<Fault> fault = warm_caches(arm, staged)) return {.fault = std::move(fault)};
    }
    redraw_activations(staged.problem, staged.inputs, random_);
    CallResult result = arm.call(staged, {.slowed_share = slowed_share,
                                          .before_window = contest_.cold ? evict_caches : nullptr});
    if (!result.fault) result.fault = contest_.light.check(staged.problem, result.ns);
    if (!result.fault) result.fault = find_timed_fault(staged, result.outputs, random_.next());
    return {.fault = std::move(result.fault), .ns = result.ns};
  }

  // An untimed call of the same problem right before: what the other arm left is gone.
  std::optional<Fault> warm_caches(Arm& arm, StagedProblem& staged) {
    redraw_activations(staged.problem, staged.inputs, random_);
    CallResult result = arm.call(staged, {});
    if (!result.fault) result.fault = find_timed_fault(staged, result.outputs, random_.next());
    return std::move(result.fault);
  }

  const Contest& contest_;
  Random& random_;
  CpuStage stage_;
  std::vector<StagedProblem> staged_;
  std::vector<std::size_t> call_counts_;    // per sample, by problem
  std::vector<std::unique_ptr<Arm>> arms_;  // by role
};

}  // namespace

Samplers cpu_samplers(const Contest& contest, Random&) {
  return [&contest](Random& random) { return std::make_unique<CpuSampler>(contest, random); };
}

}  // namespace thresher::referee
