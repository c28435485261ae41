// SPDX-License-Identifier: Apache-2.0
// Samples on the CPU: single calls, with cold or warm caches.
#include <algorithm>
#include <chrono>
#include <vector>

#include "referee/stage/eviction.hpp"
#include "referee/stage/outputs.hpp"
#include "referee/timing/sampler.hpp"
#include "referee/timing/weather.hpp"

namespace thresher::referee {
namespace {

constexpr int kRepeatsMax = 15;

// Whoever has a library or a program of its own may read the weights where the referee put them,
// all arms the same bytes. Our own variants read what they have packed, each its own.
bool reads_shared_weights(const Side& side) { return side.job.kind != JobKind::kVariant; }

class CpuSampler final : public Sampler {
 public:
  CpuSampler(const Contest& contest, Random& random)
      : contest_(contest),
        random_(random),
        stage_(contest.suite.problems, Room::kForAll),
        weights_shared_(reads_shared_weights(contest.champion) ||
                        reads_shared_weights(contest.challenger)) {
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

  double begin_row() override {
    if (!contest_.cold) return reference_spin_ns();
    const Clock::time_point begin = Clock::now();
    evict_caches();
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
  }

  int repeats_max() const override { return kRepeatsMax; }

  // With values nobody has seen.
  TimedSample sample(Role role, int problem_index, double slowed_share) override {
    StagedProblem& staged = staged_[static_cast<std::size_t>(problem_index)];
    if (!contest_.cold) {
      if (std::optional<Fault> fault = warm_caches(arm(role), staged)) {
        return {.fault = std::move(fault)};
      }
    }
    redraw_activations(staged.problem, staged.inputs, random_);
    CallResult result = arm(role).call(staged, {.slowed_share = slowed_share,
                                                .flushed = contest_.cold,
                                                .weights_flushed = weights_shared_});
    if (!result.fault) result.fault = check_light(contest_, role, staged.problem, result.ns);
    if (!result.fault) result.fault = find_timed_fault(staged, result.outputs, random_.next());
    return {.fault = std::move(result.fault), .ns = result.ns};
  }

  bool weights_intact() const override {
    return std::all_of(staged_.begin(), staged_.end(),
                       [&](const StagedProblem& staged) { return stage_.weights_intact(staged); });
  }

 private:
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
  const bool weights_shared_;
  std::vector<StagedProblem> staged_;
  std::vector<std::unique_ptr<Arm>> arms_;  // by role
};

}  // namespace

Samplers cpu_samplers(const Contest& contest, Random&) {
  return [&contest](Random& random) { return std::make_unique<CpuSampler>(contest, random); };
}

}  // namespace thresher::referee
