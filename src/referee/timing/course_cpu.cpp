// SPDX-License-Identifier: Apache-2.0
#include "referee/timing/course_cpu.hpp"

#include <algorithm>

#include "referee/stage/eviction.hpp"
#include "referee/stage/outputs.hpp"

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

}  // namespace

CpuCourse::CpuCourse(const Contest& contest, Random& random)
    : contest_(contest),
      random_(random),
      stage_(contest.suite.problems, Room::kForAll),
      call_counts_(contest.suite.problems.size(), 1) {
  for (const Problem& problem : contest.suite.problems) {
    staged_.push_back(
        stage_.put(problem, make_inputs(problem, InputFamily::kNatural, random_.next())));
  }
}

Arm CpuCourse::arm(const Side& side) {
  return Arm(side.job, stage_, contest_.suite.problems, contest_.arm, random_.next());
}

std::optional<Fault> CpuCourse::prepare(Arm& arm) {
  std::optional<Fault> fault;
  for (const StagedProblem& staged : staged_) {
    if (!fault) fault = arm.prepare(staged);
  }
  return fault;
}

void CpuCourse::settle(int problem_index, double call_ns) {
  call_counts_[static_cast<std::size_t>(problem_index)] = calls_per_sample(call_ns);
}

TimedSample CpuCourse::sample(Arm& arm, int problem_index, double slowed_share) {
  std::vector<double> ns;
  while (ns.size() < call_counts_[static_cast<std::size_t>(problem_index)]) {
    TimedSample one = call(arm, problem_index, slowed_share);
    if (one.fault) return one;
    ns.push_back(one.ns);
  }
  std::sort(ns.begin(), ns.end());
  return {.ns = ns[ns.size() / 2]};
}

// With values nobody has seen.
TimedSample CpuCourse::call(Arm& arm, int problem_index, double slowed_share) {
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
std::optional<Fault> CpuCourse::warm_caches(Arm& arm, StagedProblem& staged) {
  redraw_activations(staged.problem, staged.inputs, random_);
  CallResult result = arm.call(staged);
  if (!result.fault) result.fault = find_timed_fault(staged, result.outputs, random_.next());
  return std::move(result.fault);
}

bool CpuCourse::weights_intact() const {
  return std::all_of(staged_.begin(), staged_.end(),
                     [&](const StagedProblem& staged) { return stage_.weights_intact(staged); });
}

}  // namespace thresher::referee
