// SPDX-License-Identifier: Apache-2.0
#include "tank/gpu_model.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "gpu/sm90/gemm_plan.hpp"
#include "gpu/sm90/plan_extents.hpp"
#include "tank/makespan.hpp"

namespace thresher {
namespace {

// An SM decodes a row of weights in the time in which its tensor cores multiply the row by so many
// tokens: 16 instructions for 8 weights on four schedulers of 32 lanes, against 2048 multiply-adds.
constexpr double kDecodeTokens = 32;
// From the end of a kernel to the work of the next one that waits for it.
constexpr double kLaunchUs = 2;
constexpr double kGraphLaunchUs = 1;  // the device finds the next one by itself

double elements(const Group& group) { return static_cast<double>(group.m * group.n); }

// What one tile of k (64 elements) costs an SM, in multiply-adds of the tensor cores. Pipelined,
// they multiply one fragment while the next one is decoded; the baseline does one after the other.
double k_tile_cost(const gpu::sm90::GemmLaunch& launch) {
  const gpu::sm90::GemmConfig& config = launch.config;
  const int rows =
      gpu::sm90::units_per_warpgroup(config) * gpu::sm90::kSubTileRows * config.consumer_warpgroups;
  const double tokens = launch.kind == gpu::sm90::GemmKind::kPipelined
                            ? std::max<double>(config.tokens, kDecodeTokens)
                            : config.tokens + kDecodeTokens;
  return tokens * rows * gpu::sm90::kTileK;
}

struct GroupTiles {
  std::int64_t count = 0;
  std::int64_t k_tiles = 0;  // of each
};

GroupTiles tiles_of(const Group& group, const gpu::sm90::GemmConfig& config) {
  return {.count = gpu::sm90::divide_up(group.m, config.tokens) *
                   gpu::sm90::divide_up(group.n, gpu::sm90::columns_per_tile(config)),
          .k_tiles = gpu::sm90::divide_up(group.k, gpu::sm90::kTileK)};
}

using Groups = std::span<const Group>;

// As gpu/sm90/kernels/tile_walk.cuh deals tiles, or parts of them, out to blocks.
std::vector<double> block_costs(const gpu::sm90::GemmLaunch& launch, Groups groups) {
  const gpu::sm90::GemmConfig& config = launch.config;
  const double each = k_tile_cost(launch);
  const auto block_count = static_cast<std::size_t>(launch.block_count);
  std::vector<double> costs(block_count, 0.0);
  std::size_t next = 0;
  double all = 0;
  for (const Group& group : groups) {
    const GroupTiles tiles = tiles_of(group, config);
    all += each * static_cast<double>(tiles.count * tiles.k_tiles);
    const std::int64_t part = gpu::sm90::divide_up(tiles.k_tiles, config.split_k);
    for (std::int64_t i = 0; i < tiles.count * config.split_k; ++i) {
      const std::int64_t begin = std::min(i % config.split_k * part, tiles.k_tiles);
      const std::int64_t end = std::min(begin + part, tiles.k_tiles);
      costs[next++ % block_count] += each * static_cast<double>(end - begin);
    }
  }
  if (config.schedule == gpu::sm90::Schedule::kBalanced) {
    std::fill(costs.begin(), costs.end(), all / static_cast<double>(block_count));
  }
  return costs;
}

// Sums of tiles in parts, written to the workspace and read again.
double partial_bytes(const gpu::sm90::GemmLaunch& launch, Groups groups) {
  const gpu::sm90::GemmConfig& config = launch.config;
  std::int64_t slots = 0;
  if (config.schedule == gpu::sm90::Schedule::kBalanced) {
    slots = 2 * launch.block_count;
  } else if (config.split_k > 1) {
    for (const Group& group : groups) slots += tiles_of(group, config).count * config.split_k;
  }
  return 2.0 * static_cast<double>(slots) * sizeof(float) *
         static_cast<double>(gpu::sm90::partial_elements(config));
}

// Weights once per launch, whatever it multiplies of them; what it stores; a gate pass leaves
// floats that the up pass reads.
double launch_bytes(const gpu::sm90::GemmLaunch& launch, Groups groups) {
  const gpu::sm90::GemmConfig& config = launch.config;
  double bytes = partial_bytes(launch, groups);
  for (const Group& group : groups) {
    if (group.m == 0) continue;
    const std::int64_t row_tiles = gpu::sm90::divide_up(
        group.n * gpu::sm90::rows_per_column(config.product), gpu::sm90::kTileRows);
    bytes += static_cast<double>(row_tiles * gpu::sm90::divide_up(group.k, gpu::sm90::kTileK)) *
             static_cast<double>(gpu::sm90::kTileBytes);
    bytes += elements(group) * gpu::sm90::element_bytes(gpu::sm90::stored_type(config));
    if (config.product == gpu::sm90::Product::kUpPass) bytes += elements(group) * sizeof(float);
  }
  return bytes;
}

// The prologue reads the activations and writes them as images of whole tiles.
double prologue_bytes(const Problem& problem, const gpu::sm90::GemmKnobs& knobs) {
  const double bytes_per_value =
      problem.activations == Activations::kNvfp4 ? kNvfp4BytesPerElement : 2;
  double bytes = 0;
  for (const Group& group : problem.groups) {
    bytes += bytes_per_value * static_cast<double>(group.m * group.k);
    bytes += static_cast<double>(gpu::sm90::divide_up(group.m, knobs.tokens)) *
             static_cast<double>(gpu::sm90::divide_up(group.k, gpu::sm90::kTileK)) *
             static_cast<double>(gpu::sm90::image_bytes(knobs.tokens));
  }
  return bytes;
}

// Launches that run side by side: one, or on streams all that do not wait for each other.
struct Phase {
  gpu::sm90::Product product = gpu::sm90::Product::kGemm;
  std::vector<double> costs;
  double bytes = 0;
};

std::vector<Phase> phases_of(const gpu::sm90::GemmPlan& plan, const Problem& problem,
                             gpu::sm90::Launches launches) {
  std::vector<Phase> phases;
  for (const gpu::sm90::GemmLaunch& launch : plan.launches) {
    const Groups groups = Groups(problem.groups).subspan(launch.first_group, launch.group_count);
    const auto beside = std::find_if(phases.begin(), phases.end(), [&](const Phase& phase) {
      return launches == gpu::sm90::Launches::kStreams && phase.product == launch.config.product;
    });
    Phase& phase = beside != phases.end()
                       ? *beside
                       : phases.emplace_back(Phase{.product = launch.config.product});
    const std::vector<double> costs = block_costs(launch, groups);
    phase.costs.insert(phase.costs.end(), costs.begin(), costs.end());
    phase.bytes += launch_bytes(launch, groups);
  }
  return phases;
}

double useful_gpu_cost(const Problem& problem) {
  double cost = 0;
  for (const Group& group : problem.groups) cost += elements(group) * static_cast<double>(group.k);
  return problem.op == Op::kDual ? 2 * cost : cost;
}

double output_bytes(const Problem& problem) {
  double count = 0;
  for (const Group& group : problem.groups) count += elements(group);
  return count * static_cast<double>(bytes_per_element(problem.output));
}

}  // namespace

ModelledRun modelled_gpu_run(const Problem& problem, const gpu::sm90::Variant& variant,
                             const Machine& machine) {
  const gpu::sm90::GemmKnobs& knobs = variant.knobs;
  const gpu::sm90::GemmPlan plan =
      gpu::sm90::make_plan(knobs, {problem, gpu::sm90::token_count(problem), machine.limits});
  const int sm_count = machine.limits.sm_count;
  const double us_per_byte = 1e-3 / machine.rates.read_gb_per_s;
  const double useful = useful_gpu_cost(problem);
  const double us_per_cost =  // of one SM
      useful > 0 ? speed_of_light(problem, machine.rates).compute_us / useful * sm_count : 0;

  ModelledRun run{.bytes = prologue_bytes(problem, knobs),
                  .store_bytes = output_bytes(problem),
                  .launch_us = static_cast<double>(plan.launches.size()) *
                               (variant.graph ? kGraphLaunchUs : kLaunchUs)};
  run.us = run.bytes * us_per_byte + run.launch_us;
  double cost = 0;
  double span = 0;
  for (const Phase& phase : phases_of(plan, problem, knobs.launches)) {
    const double phase_span = makespan(phase.costs, sm_count);
    const double compute_us = phase_span * us_per_cost;
    const double memory_us = phase.bytes * us_per_byte;
    // The baseline waits for its loads; the others load while they multiply.
    run.us += knobs.kind == gpu::sm90::GemmKind::kPlain ? compute_us + memory_us
                                                        : std::max(compute_us, memory_us);
    run.bytes += phase.bytes;
    span += phase_span;
    for (const double one : phase.costs) cost += one;
  }
  if (useful > 0) {
    run.work = cost / useful;
    run.balance = cost / (span * sm_count);
  }
  return run;
}

}  // namespace thresher
