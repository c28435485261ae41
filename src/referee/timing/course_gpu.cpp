// SPDX-License-Identifier: Apache-2.0
#include "referee/timing/course_gpu.hpp"

#include <fmt/format.h>

#include "cpu/side_by_side.hpp"
#include "referee/stage/values.hpp"

namespace thresher::referee {
namespace {

std::vector<GpuEntry> entries_of(const Contest& contest) {
  const std::size_t l2_bytes = contest.gpu->device().properties().l2_bytes;
  std::vector<GpuEntry> entries;
  for (const Problem& problem : contest.suite.problems) {
    const double floor_ns = contest.light.floor_ns(problem);
    entries.push_back({problem, rotation_for(problem, floor_ns, l2_bytes, contest.cold)});
  }
  return entries;
}

}  // namespace

std::optional<Fault> TimedGpuArm::find_launch_fault(
    const Problem& problem, int problem_index, int call_count,
    const std::optional<BatchReport>& report) const {
  if (launches_.empty() || !report) return std::nullopt;
  const gpu::LaunchCounts& one = launches_[static_cast<std::size_t>(problem_index)];
  const gpu::LaunchCounts planned{call_count * one.kernels, call_count * one.graphs};
  const gpu::LaunchCounts counted{report->kernel_count, report->graph_count};
  if (counted == planned) return std::nullopt;
  return invalid(check::kLaunches,
                 fmt::format("problem '{}': {} kernels and {} graphs were launched for {} calls, "
                             "{} and {} were planned",
                             problem.name, counted.kernels, counted.graphs, call_count,
                             planned.kernels, planned.graphs));
}

std::unique_ptr<GpuCopies> GpuCourse::copies_for(const Contest& contest, Random& random) {
  return std::make_unique<GpuCopies>(contest.gpu->device(), entries_of(contest), random);
}

GpuCourse::GpuCourse(const Contest& contest, GpuCopies& copies, Random& random)
    : contest_(contest), copies_(copies), random_(random) {
  copies_.turn(random_);
}

TimedGpuArm GpuCourse::arm(const Side& side) {
  return TimedGpuArm(side, copies_.stage(), copies_.entries(), contest_.arm, random_.next());
}

std::optional<Fault> GpuCourse::prepare(Arm& arm) {
  std::optional<Fault> fault;
  for (const StagedProblem& staged : copies_.all()) {
    if (!fault) fault = arm.prepare(staged);
  }
  return fault;
}

// Calls of one copy come one after the other: its inputs hold the activations of one of them.
std::optional<Fault> GpuCourse::find_wrong_call(std::span<StagedProblem> copies,
                                                std::vector<InspectedCall> calls) {
  std::vector<std::optional<Fault>> faults(calls.size());
  const std::uint64_t seed = random_.next();
  cpu::side_by_side(copies.size(), calls.size(), [&](std::size_t copy) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls[i].copy_index != copy) continue;
      put_activations(std::move(calls[i].activations), copies[copy].inputs);
      faults[i] = find_timed_fault(copies[copy], calls[i].outputs, Random(seed, i).next());
    }
  });
  return first_of(std::move(faults));
}

TimedSample GpuCourse::sample(Arm& arm, int problem_index, double slowed_share) {
  const GpuEntry& entry = copies_.entries()[static_cast<std::size_t>(problem_index)];
  const std::span<StagedProblem> copies = copies_.of(problem_index);
  const int call_count = entry.rotation.call_count;
  BatchResult result = arm.batch(copies, {.call_count = call_count, .slowed_share = slowed_share});
  if (!result.fault) {
    result.fault = arm.find_launch_fault(entry.problem, problem_index, call_count, result.report);
  }
  if (!result.fault) result.fault = contest_.light.check(entry.problem, result.ns);
  if (!result.fault) result.fault = find_wrong_call(copies, std::move(result.inspected));
  return {.fault = std::move(result.fault), .ns = result.ns};
}

}  // namespace thresher::referee
