// SPDX-License-Identifier: Apache-2.0
#include "cpu/model.hpp"

#include <algorithm>
#include <vector>

#include "backend/makespan.hpp"
#include "cpu/plan.hpp"

namespace thresher::cpu {
namespace {

// Decoding a panel costs about as much as multiplying it with this many rows.
constexpr double kDecodeRows = 2;

// A task's cost in rows x panels x superblocks.
double cost(const CpuPlan& plan, const Task& task) {
  const GroupPlan& group = plan.groups[static_cast<std::size_t>(task.group->group_index)];
  double rows = 0;
  for (int i = 0; i < task.token_tile_count; ++i) {
    rows += tile_of(*task.group, task.first_token_tile + i).row_count;
  }
  // Half of the threads decode for the other half: what multiplies does not wait for it.
  const bool split = plan.variant.roles == Roles::kSplit;
  // A decoded panel serves all tiles of a task, a direct tile decodes for itself.
  const double decodes = task.group->decode_panels ? 1 : task.token_tile_count;
  return (rows + (split ? 0 : kDecodeRows * decodes)) *
         static_cast<double>(task.panel_count * group.superblock_count);
}

struct Filling {
  double cost_sum = 0;
  double span = 0;
};

Filling filling_of(const CpuPlan& plan) {
  const int threads =
      plan.variant.roles == Roles::kSplit ? std::max(1, plan.thread_count / 2) : plan.thread_count;
  Filling filling;
  std::vector<double> waiting;
  const auto run_waiting = [&] {
    filling.span += makespan(waiting, threads);
    waiting.clear();
  };
  const Cut cut = plan.cut();
  for (const GroupCut& group : cut.groups) {
    for (std::int64_t i = 0; i < group.task_count; ++i) {
      waiting.push_back(cost(plan, task_at(plan, cut, group.first_task + i)));
      filling.cost_sum += waiting.back();
    }
    if (plan.variant.schedule == Schedule::kSequence) run_waiting();
  }
  run_waiting();
  return filling;
}

double output_elements(const Problem& problem) {
  double elements = 0;
  for (const Group& group : problem.groups) elements += static_cast<double>(group.m * group.n);
  return elements;
}

double useful_cost(const Problem& problem) {
  double cost = 0;
  for (const Group& group : problem.groups) {
    cost += static_cast<double>(group.m) * static_cast<double>(group.n) / kPanelColumns *
            static_cast<double>(group.k) / kSuperblockElements;
  }
  return cost;
}

}  // namespace

ModelledRun modelled_run(const Problem& problem, const Variant& variant, const Machine& machine) {
  const CpuPlan plan = make_plan(problem, variant, machine.thread_count);
  const Filling filling = filling_of(plan);
  const double useful = useful_cost(problem);
  ModelledRun run;
  if (useful > 0) {
    run.work = filling.cost_sum / useful;
    run.balance = filling.cost_sum / (filling.span * machine.thread_count);
  }
  // A plain store reads the line before it writes it; a two-pass dual writes and reads its gate.
  const double c_bytes =
      output_elements(problem) * static_cast<double>(bytes_per_element(problem.output));
  run.store_bytes = variant.store == Store::kStreaming ? c_bytes : 2 * c_bytes;
  run.bytes = fewest_bytes(problem) - c_bytes + run.store_bytes;
  if (plan.two_pass()) run.bytes += 2 * sizeof(float) * output_elements(problem);
  const SpeedOfLight light = speed_of_light(problem, machine.rates);
  run.us = std::max(1e-3 * run.bytes / machine.rates.read_gb_per_s,
                    light.compute_us * run.work / run.balance);
  return run;
}

}  // namespace thresher::cpu
