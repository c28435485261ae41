// SPDX-License-Identifier: Apache-2.0
#include "cpu/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "assert.hpp"
#include "cpu/run.hpp"

namespace thresher::cpu {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::int64_t div_ceil(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// How a variant cuts C: register tiles of some rows, tasks of some tiles by some panels.
struct Cuts {
  Cuts(const Variant& variant, const Kernels& kernels)
      : tile_rows(std::min(variant.tile_rows, kernels.tile_rows_max)),
        tiles_per_task(std::max(1, variant.task_rows / tile_rows)),
        panels_per_task(variant.task_columns / kPanelColumns) {}

  std::int64_t token_tile_count(const Group& group) const { return div_ceil(group.m, tile_rows); }
  std::int64_t task_count(const Group& group) const {
    return div_ceil(token_tile_count(group), tiles_per_task) *
           div_ceil(panel_count(group.n), panels_per_task);
  }

  int tile_rows;
  std::int64_t tiles_per_task;
  std::int64_t panels_per_task;
};

class Planner {
 public:
  Planner(const Problem& problem, const Variant& variant, int thread_count)
      : problem_(problem), cuts_(variant, body(variant.isa).kernels(problem.activations)) {
    plan_.variant = variant;
    plan_.body = &body(variant.isa);
    plan_.kernels = &plan_.body->kernels(problem.activations);
    plan_.op = problem.op;
    plan_.output = problem.output;
    plan_.thread_count = thread_count;
    plan_.tile_panels =
        std::min(variant.tile_columns / kPanelColumns, plan_.kernels->tile_panels_max);
  }

  CpuPlan make() {
    plan_.groups.resize(problem_.groups.size());
    plan_.workspace_bytes = aligned(plan_.groups.size() * sizeof(GroupBuffers));
    for (const std::size_t index : groups_by_rows()) add_group(index);
    for (std::size_t index = 0; index < problem_.groups.size(); ++index) add_gate(index);
    add_scratch();
    return std::move(plan_);
  }

 private:
  std::vector<std::size_t> groups_by_rows() const {
    std::vector<std::size_t> order(problem_.groups.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      return problem_.groups[a].m > problem_.groups[b].m;
    });
    return order;
  }

  bool decode_panels(std::int64_t m) const {
    if (plan_.kernels->decoded_tile == nullptr) return false;
    if (plan_.kernels->direct_tile == nullptr) return true;
    if (plan_.variant.decode != Decode::kByRows) return plan_.variant.decode == Decode::kPanel;
    return m >= panel_rows_min(plan_.variant.isa);
  }

  void add_group(std::size_t index) {
    const Group& group = problem_.groups[index];
    GroupPlan& planned = plan_.groups[index];
    planned.n = group.n;
    planned.superblock_count = superblock_count(group.k);
    planned.decode_panels = decode_panels(group.m);
    planned.first_task = plan_.tasks.size();
    const std::size_t first_token_tile = plan_.token_tiles.size();
    add_token_tiles(index, planned.superblock_count);
    add_tasks(index, first_token_tile);
    planned.task_count = plan_.tasks.size() - planned.first_task;
  }

  // Tiles of equal height, give or take a row: 17 rows are 9 + 8 rather than 16 + 1.
  void add_token_tiles(std::size_t index, std::int64_t superblocks) {
    const std::int64_t m = problem_.groups[index].m;
    const std::int64_t count = cuts_.token_tile_count(problem_.groups[index]);
    for (std::int64_t tile = 0; tile < count; ++tile) {
      const std::int64_t first = m * tile / count;
      const int rows = static_cast<int>(m * (tile + 1) / count - first);
      plan_.token_tiles.push_back({.group_index = static_cast<std::int32_t>(index),
                                   .row_count = rows,
                                   .first_row = first,
                                   .activation_offset = plan_.workspace_bytes});
      plan_.workspace_bytes += aligned(plan_.kernels->activation_bytes(rows, superblocks));
    }
  }

  void add_tasks(std::size_t index, std::size_t first_token_tile) {
    const std::int64_t tiles =
        static_cast<std::int64_t>(plan_.token_tiles.size() - first_token_tile);
    const std::int64_t panels = panel_count(problem_.groups[index].n);
    for (std::int64_t panel = 0; panel < panels; panel += cuts_.panels_per_task) {
      for (std::int64_t tile = 0; tile < tiles; tile += cuts_.tiles_per_task) {
        plan_.tasks.push_back({.group_index = static_cast<std::int32_t>(index),
                               .first_token_tile = static_cast<std::int32_t>(
                                   static_cast<std::int64_t>(first_token_tile) + tile),
                               .token_tile_count = static_cast<std::int32_t>(
                                   std::min(cuts_.tiles_per_task, tiles - tile)),
                               .first_panel = panel,
                               .panel_count = std::min(cuts_.panels_per_task, panels - panel)});
      }
    }
  }

  void add_gate(std::size_t index) {
    if (!plan_.two_pass()) return;
    const Group& group = problem_.groups[index];
    plan_.groups[index].gate_offset = plan_.workspace_bytes;
    plan_.workspace_bytes += aligned(static_cast<std::size_t>(group.m) *
                                     static_cast<std::size_t>(group.n) * sizeof(float));
  }

  void add_scratch() {
    std::int64_t rows_max = 0;
    std::int64_t superblocks_max = 0;
    bool decodes = false;
    for (const Task& task : plan_.tasks) {
      std::int64_t rows = 0;
      for (int i = 0; i < task.token_tile_count; ++i) {
        rows += plan_.token_tiles[static_cast<std::size_t>(task.first_token_tile + i)].row_count;
      }
      const GroupPlan& group = plan_.groups[static_cast<std::size_t>(task.group_index)];
      rows_max = std::max(rows_max, rows);
      superblocks_max = std::max(superblocks_max, group.superblock_count);
      decodes = decodes || group.decode_panels;
    }
    plan_.sums_bytes =
        aligned(static_cast<std::size_t>(rows_max + kTileRowsMax) * kSumColumns * sizeof(float));
    plan_.scratch_bytes = plan_.sums_bytes;
    if (decodes) {
      const std::int64_t chunk = std::min<std::int64_t>(
          superblocks_max, plan_.variant.chunk_elements / kSuperblockElements);
      const int slots = plan_.variant.roles == Roles::kSplit ? kRingSlots : 1;
      plan_.scratch_bytes += aligned(plan_.kernels->decoded_bytes(kTilePanelsMax, chunk)) *
                             static_cast<std::size_t>(slots);
    }
    plan_.scratch_offset = plan_.workspace_bytes;
    plan_.workspace_bytes += plan_.scratch_bytes * static_cast<std::size_t>(plan_.thread_count);
  }

  const Problem& problem_;
  const Cuts cuts_;
  CpuPlan plan_;
};

}  // namespace

// check(Problem) bounds m * n and the number of groups, so no count here comes near 2^63.
std::string why_not_size(const Problem& problem, const Variant& variant) {
  const Cuts cuts(variant, body(variant.isa).kernels(problem.activations));
  std::int64_t piece_count = 0;
  for (const Group& group : problem.groups) {
    piece_count += cuts.token_tile_count(group) + cuts.task_count(group);
  }
  if (piece_count <= kPieceCountMax) return {};
  return fmt::format("it would cut the problem into {} tiles and tasks, more than {}", piece_count,
                     kPieceCountMax);
}

CpuPlan make_plan(const Problem& problem, const Variant& variant, int thread_count) {
  THRESHER_ASSERT(supports(variant, problem, thread_count).ok);
  return Planner(problem, variant, thread_count).make();
}

}  // namespace thresher::cpu
