// SPDX-License-Identifier: Apache-2.0
#include "gpu/gemm/gemm_plan.hpp"

#include <algorithm>

#include "gpu/gemm/plan_extents.hpp"
#include "rounding.hpp"

namespace thresher::gpu {
namespace {

constexpr std::size_t kAlignment = 256;

ImageLaunch image_launch(const PlanRequest& request, const GemmKnobs& knobs) {
  const TokenCut cut = token_cut(knobs);
  constexpr int kWarps = kImageThreads / hw::kWarpThreads;
  const std::int64_t tasks = Extents(request, cut).image_tasks();
  const std::int64_t blocks =
      std::min<std::int64_t>(divide_up(tasks, kWarps), request.limits.sm_count * kImageBlocksPerSm);
  return {.config = {.activations = activation_type(request.problem.activations), .cut = cut},
          .mma = knobs.mma,
          .block_count = static_cast<int>(std::max<std::int64_t>(blocks, 1)),
          .thread_count = kImageThreads};
}

// The baseline has a block per tile, as far as that can be known; the others stay and walk, and if
// they share tiles there may be more of them than tiles.
int block_count(GemmKind kind, const GemmConfig& config, const PlanRequest& request,
                const Problem& launched) {
  const Extents extents({launched, request.token_limit, request.limits}, token_cut(config));
  std::int64_t pieces =
      extents.tiles(config) * (config.schedule == Schedule::kBalanced ? extents.k_tiles_max : 1);
  if (config.prologue == Prologue::kInside) {
    const int warps = consumer_threads(config) / hw::kWarpThreads;
    pieces = std::max(pieces, divide_up(extents.image_tasks(), warps));
  }
  const std::int64_t most = kind == GemmKind::kPlain
                                ? kCountMax - 1
                                : std::int64_t{request.limits.sm_count} * config.blocks_per_sm;
  const int together = blocks_per_tile(config);
  return together * static_cast<int>(std::clamp<std::int64_t>(
                        pieces, 1, std::max<std::int64_t>(most / together, 1)));
}

std::vector<GemmLaunch> gemm_launches(const GemmKnobs& knobs, const PlanRequest& request) {
  const Problem& problem = request.problem;
  const auto group_count = static_cast<std::uint32_t>(problem.groups.size());
  const std::uint32_t step = knobs.launches == Launches::kGrouped ? group_count : 1;
  std::vector<GemmLaunch> launches;
  for (std::uint32_t first = 0; first < group_count; first += step) {
    Problem launched = problem;
    launched.groups.assign(problem.groups.begin() + first, problem.groups.begin() + first + step);
    for (const Product product : products_of(knobs, problem.op)) {
      const GemmConfig config = config_of(knobs, problem, product);
      const bool hands_over = consumer_registers(config) > 0;
      launches.push_back({.kind = knobs.kind,
                          .config = config,
                          .first_group = first,
                          .group_count = step,
                          .block_count = block_count(knobs.kind, config, request, launched),
                          .cluster_blocks = blocks_per_tile(config),
                          .thread_count = thread_count(config),
                          .shared_bytes = shared_bytes_of(knobs.kind, config),
                          .register_count = hands_over ? launch_registers(config) : 0});
    }
  }
  return launches;
}

// Slots and counters for tiles in parts. With split_k they are numbered over the whole problem, and
// launches share them; a balanced launch has two slots and a counter per block for itself.
struct PartSpace {
  std::size_t partial_bytes = 0;
  std::size_t counter_bytes = 0;
};

PartSpace part_space(const GemmConfig& config, std::int64_t slots, std::int64_t tiles) {
  slots *= blocks_per_tile(config);
  tiles *= blocks_per_tile(config);
  return {.partial_bytes = static_cast<std::size_t>(slots) * partial_elements(config) * 4,
          .counter_bytes = static_cast<std::size_t>(tiles * config.consumer_warpgroups) * 4};
}

PartSpace arrange_parts(std::vector<GemmLaunch>& launches, const PlanRequest& request) {
  PartSpace all;
  for (GemmLaunch& launch : launches) {
    const GemmConfig& config = launch.config;
    if (config.schedule == Schedule::kBalanced) {
      const std::int64_t walkers = launch.block_count / blocks_per_tile(config);
      const PartSpace own = part_space(config, 2 * walkers, walkers);
      launch.partial_offset = all.partial_bytes;
      launch.counter_offset = all.counter_bytes;
      all.partial_bytes += own.partial_bytes;
      all.counter_bytes += own.counter_bytes;
    } else if (config.split_k > 1) {
      const std::int64_t slots = Extents(request, token_cut(config)).tiles(config);
      all = part_space(config, slots, slots / config.split_k);
    }
  }
  return all;
}

// Deals out the workspace from its start.
class Arranger {
 public:
  std::size_t take(std::size_t bytes) {
    const std::size_t offset = bytes_;
    bytes_ = round_up(bytes_ + bytes, kAlignment);
    return offset;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

WorkspaceLayout arrange_workspace(const GemmKnobs& knobs, const PlanRequest& request,
                                  const PartSpace& parts) {
  const Product product = products_of(knobs, request.problem.op).front();
  const Extents extents(request, token_cut(knobs));
  Arranger arranger;
  WorkspaceLayout workspace;
  if (knobs.prologue != Prologue::kNone) {
    workspace.images = arranger.take(
        static_cast<std::size_t>(extents.columns * extents.k_tiles_max * kImageRowBytes));
  }
  if (is_pass(product)) {
    const auto tokens = static_cast<std::size_t>(request.token_limit);
    workspace.gate_stride_elements = static_cast<std::size_t>(divide_up(extents.n_max, 4) * 4);
    workspace.gates = arranger.take(tokens * workspace.gate_stride_elements * sizeof(float));
  }
  workspace.partials = arranger.take(parts.partial_bytes);
  workspace.image_counter_offset = parts.counter_bytes;
  workspace.counter_bytes = parts.counter_bytes;
  if (knobs.prologue == Prologue::kInside) workspace.counter_bytes += 2 * sizeof(u32);
  workspace.counters = arranger.take(workspace.counter_bytes);
  workspace.bytes = arranger.bytes();
  return workspace;
}

}  // namespace

GemmPlan make_plan(const GemmKnobs& knobs, const PlanRequest& request) {
  GemmPlan plan{.images = {},
                .launches = gemm_launches(knobs, request),
                .workspace = {},
                .token_limit = static_cast<std::uint32_t>(request.token_limit)};
  if (knobs.prologue == Prologue::kKernel) plan.images = image_launch(request, knobs);
  const PartSpace parts = arrange_parts(plan.launches, request);
  plan.workspace = arrange_workspace(knobs, request, parts);
  return plan;
}

ImageArgs image_args(const GemmPlan& plan, const GroupTable& table, std::uint32_t group_count,
                     std::uint8_t* workspace) {
  return {.table = table, .images = workspace + plan.workspace.images, .group_count = group_count};
}

GemmArgs gemm_args(const GemmPlan& plan, const GemmLaunch& launch, const GroupTable& table,
                   std::uint8_t* workspace) {
  const WorkspaceLayout& at = plan.workspace;
  return {
      .table = table,
      .images = workspace + at.images,
      .gates = reinterpret_cast<float*>(workspace + at.gates),
      .gate_stride_elements = at.gate_stride_elements,
      .partials = reinterpret_cast<float*>(workspace + at.partials + launch.partial_offset),
      .counters = reinterpret_cast<u32*>(workspace + at.counters + launch.counter_offset),
      .image_counters = reinterpret_cast<u32*>(workspace + at.counters + at.image_counter_offset),
      .first_group = launch.first_group,
      .group_count = launch.group_count};
}

}  // namespace thresher::gpu
