// SPDX-License-Identifier: Apache-2.0
#include "referee/course_gpu.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "referee/values.hpp"

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

GpuCourse::GpuCourse(const Contest& contest, Random& random)
    : contest_(contest),
      random_(random),
      entries_(entries_of(contest)),
      stage_(contest.gpu->device(), entries_, Room::kForAll) {
  for (const GpuEntry& entry : entries_) {
    const Inputs base = make_inputs(entry.problem, InputFamily::kNatural, random_.next());
    std::vector<StagedProblem>& copies = copies_.emplace_back();
    for (int i = 0; i < entry.rotation.copy_count; ++i) {
      Inputs inputs = base;
      turn_rows(entry.problem, inputs, random_);
      copies.push_back(stage_.put(entry.problem, std::move(inputs)));
    }
  }
}

TimedGpuArm GpuCourse::arm(const Side& side) {
  return TimedGpuArm(side, stage_, entries_, contest_.arm, random_.next());
}

std::optional<Fault> GpuCourse::prepare(Arm& arm) {
  std::optional<Fault> fault;
  for (const std::vector<StagedProblem>& copies : copies_) {
    for (const StagedProblem& staged : copies) {
      if (!fault) fault = arm.prepare(staged);
    }
  }
  return fault;
}

TimedSample GpuCourse::sample(Arm& arm, int problem_index, double slowed_share) {
  const GpuEntry& entry = entries_[static_cast<std::size_t>(problem_index)];
  std::vector<StagedProblem>& copies = copies_[static_cast<std::size_t>(problem_index)];
  const int call_count = entry.rotation.call_count;
  BatchResult result = arm.batch(copies, {.call_count = call_count, .slowed_share = slowed_share});
  if (!result.fault) {
    result.fault = arm.find_launch_fault(entry.problem, problem_index, call_count, result.report);
  }
  if (!result.fault) result.fault = contest_.light.check(entry.problem, result.ns);
  for (InspectedCall& call : result.inspected) {
    if (result.fault) break;
    StagedProblem& copy = copies[call.copy_index];
    put_activations(std::move(call.activations), copy.inputs);
    result.fault = find_timed_fault(copy, call.outputs, random_.next());
  }
  return {.fault = std::move(result.fault), .ns = result.ns};
}

bool GpuCourse::weights_intact() const {
  return std::all_of(copies_.begin(), copies_.end(), [&](const auto& copies) {
    return std::all_of(copies.begin(), copies.end(),
                       [&](const StagedProblem& staged) { return stage_.weights_intact(staged); });
  });
}

}  // namespace thresher::referee
