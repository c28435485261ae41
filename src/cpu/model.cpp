// SPDX-License-Identifier: Apache-2.0
#include "cpu/model.hpp"

#include <algorithm>
#include <vector>

#include "backend/makespan.hpp"
#include "cpu/plan.hpp"
#include "rounding.hpp"

namespace thresher::cpu {
namespace {

// What a body takes for a panel and superblock. The unit is a row of a tile of vectors.
struct BodyCosts {
  double row = 1;
  int row_step = 1;   // a tile pays for a multiple of so many rows
  double decode = 2;  // of the panel
};

// Vectors decode a panel in the time of a few rows. AMX expands it to bf16, which takes far longer,
// and a tile of 16 rows takes as long again, mostly to be loaded: fitted to results/xeon. A row of
// floats takes twice as long as one of integers, so beside them both weigh half.
BodyCosts costs_of(Isa isa, Activations activations) {
  if (isa != Isa::kAmx) return {};
  if (activations == Activations::kNvfp4) return {.row = 0.7, .row_step = 16, .decode = 11};
  return {.row = 0.3, .row_step = 16, .decode = 5};
}

// A task's cost in rows x panels x superblocks.
double cost(const CpuPlan& plan, const BodyCosts& costs, const Task& task) {
  const GroupPlan& group = plan.groups[static_cast<std::size_t>(task.group->group_index)];
  double rows = 0;
  for (int i = 0; i < task.token_tile_count; ++i) {
    rows += round_up(tile_of(*task.group, task.first_token_tile + i).row_count, costs.row_step);
  }
  // Half of the threads decode for the other half: what multiplies does not wait for it.
  const bool split = plan.variant.roles == Roles::kSplit;
  // A decoded panel serves all tiles of a task, a direct tile decodes for itself.
  const double decodes = task.group->decode_panels ? 1 : task.token_tile_count;
  return (costs.row * rows + (split ? 0 : costs.decode * decodes)) *
         static_cast<double>(task.panel_count * group.superblock_count);
}

struct Filling {
  double cost_sum = 0;
  double span = 0;
};

Filling filling_of(const CpuPlan& plan, const BodyCosts& costs) {
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
      waiting.push_back(cost(plan, costs, task_at(plan, cut, group.first_task + i)));
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

// Costs are in rows of vectors. Of a machine whose ceiling was measured with AMX's tiles, that of
// its vectors follows from FP32's: a lane multiplies four bytes where it multiplies one float.
MachineRates rates_of_vectors(MachineRates rates) {
  const bool of_tiles = rates.bf16_gop_per_s > rates.fp16_gop_per_s;
  if (!of_tiles) return rates;
  rates.bf16_gop_per_s = rates.fp16_gop_per_s;
  rates.nvfp4_gop_per_s = 4 * rates.fp16_gop_per_s;
  return rates;
}

}  // namespace

double default_cost(const Problem& problem, Isa isa) {
  const BodyCosts costs = costs_of(isa, problem.activations);
  const Variant variant = default_variant(isa);
  double sum = 0;
  for (const Group& group : problem.groups) {
    if (group.m == 0) continue;
    // Tiles of equal height, give or take a row.
    const std::int64_t tiles = divide_up(group.m, variant.tile_rows);
    const std::int64_t rows = group.m / tiles;
    const std::int64_t higher = group.m % tiles;
    const std::int64_t paid = (tiles - higher) * round_up(rows, costs.row_step) +
                              higher * round_up(rows + 1, costs.row_step);
    const bool decoded = group.m >= panel_rows_min(isa);
    const std::int64_t decodes =
        decoded ? divide_up(tiles, std::max(1, variant.task_rows / variant.tile_rows)) : tiles;
    sum += (costs.row * static_cast<double>(paid) + costs.decode * static_cast<double>(decodes)) *
           static_cast<double>(panel_count(group.n) * superblock_count(group.k));
  }
  return sum;
}

ModelledRun modelled_run(const Problem& problem, const Variant& variant, const Machine& machine) {
  const CpuPlan plan = make_plan(problem, variant, machine.thread_count);
  const BodyCosts costs = costs_of(variant.isa, problem.activations);
  const Filling filling = filling_of(plan, costs);
  const double useful = costs.row * useful_cost(problem);
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
  const SpeedOfLight light = speed_of_light(problem, rates_of_vectors(machine.rates));
  run.us = std::max(1e-3 * run.bytes / machine.rates.read_gb_per_s,
                    light.compute_us * costs.row * run.work / run.balance);
  return run;
}

}  // namespace thresher::cpu
