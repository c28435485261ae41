// SPDX-License-Identifier: Apache-2.0
#include "cpu/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "assert.hpp"
#include "cpu/run.hpp"
#include "rounding.hpp"

namespace thresher::cpu {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) { return round_up(bytes, kAlignment); }

// divide_up of numbers below 2^31, and mostly of a <= b: every call asks it often.
std::int64_t small_div_ceil(std::int64_t a, std::int64_t b) {
  if (a <= b) return 1;
  const auto divisor = static_cast<std::uint32_t>(b);
  return (static_cast<std::uint32_t>(a) + divisor - 1) / divisor;
}

// How a variant cuts C: register tiles of some rows, tasks of some tiles by some panels.
struct Cuts {
  Cuts(const Variant& variant, const Kernels& kernels)
      : tile_rows(std::min(variant.tile_rows, kernels.tile_rows_max)),
        tiles_per_task(std::max(1, variant.task_rows / tile_rows)),
        panels_per_task(variant.task_columns / kPanelColumns) {}

  std::int64_t token_tile_count(const Group& group) const { return divide_up(group.m, tile_rows); }
  std::int64_t task_count(const Group& group) const {
    return divide_up(token_tile_count(group), tiles_per_task) *
           divide_up(panel_count(group.n), panels_per_task);
  }

  int tile_rows;
  std::int64_t tiles_per_task;
  std::int64_t panels_per_task;
};

bool decodes_panels(const CpuPlan& plan, std::int64_t rows) {
  if (plan.kernels->decoded_tile == nullptr) return false;
  if (plan.kernels->direct_tile == nullptr) return true;
  if (plan.variant.decode != Decode::kByRows) return plan.variant.decode == Decode::kPanel;
  return rows >= panel_rows_min(plan.variant.isa);
}

// Puts the groups that have rows in order, those of many rows first. An exact order is not needed:
// groups of as many binary digits of rows stay as they come.
class OrderByRows {
 public:
  explicit OrderByRows(std::span<const std::uint32_t> row_counts) {
    for (const std::uint32_t rows : row_counts) ++first_[bucket(rows) + 1];
    for (std::size_t i = 1; i < std::size(first_); ++i) first_[i] += first_[i - 1];
  }
  std::size_t group_count() const { return first_[kBuckets - 1]; }
  std::size_t next(std::uint32_t rows) { return first_[bucket(rows)]++; }

 private:
  static constexpr std::size_t kBuckets = 33;  // no rows is the last
  static std::size_t bucket(std::uint32_t rows) {
    return kBuckets - 1 - static_cast<std::size_t>(std::bit_width(rows));
  }
  std::size_t first_[kBuckets + 1] = {};
};

// Tiles of equal height, give or take a row: 17 rows are 9 + 8 rather than 16 + 1.
GroupCut compute_cut(const CpuPlan& plan, std::size_t index, std::int64_t rows) {
  const GroupPlan& group = plan.groups[index];
  GroupCut cut{.group_index = static_cast<std::int32_t>(index),
               .decode_panels = decodes_panels(plan, rows),
               .row_count = rows,
               .tile_count = small_div_ceil(rows, plan.tile_rows)};
  cut.tasks_per_panel_set = small_div_ceil(cut.tile_count, plan.tiles_per_task);
  cut.panels_per_task = plan.panels_per_task;
  cut.task_count = cut.tasks_per_panel_set * divide_up(panel_count(group.n), plan.panels_per_task);
  const std::int64_t tile_rows = cut.tile_count == 1 ? rows : small_div_ceil(rows, cut.tile_count);
  cut.panels_at_once = plan.panels_at_once[static_cast<std::size_t>(tile_rows)];
  cut.tile_bytes = aligned(static_cast<std::size_t>(tile_rows) * group.activation_row_bytes);
  return cut;
}

// Tasks of a thread, at the least, where tasks are made wider.
constexpr std::int64_t kTasksPerThread = 4;

// A task of few rows takes all panels that its tiles multiply at once, where that leaves enough
// tasks for all threads.
CutOfRows compute_cuts(const CpuPlan& plan, std::size_t index, std::int64_t rows) {
  CutOfRows cuts{.usual = compute_cut(plan, index, rows),
                 .wide_from = std::numeric_limits<std::int64_t>::max()};
  cuts.wide = cuts.usual;
  const std::int64_t panels_at_once = cuts.usual.panels_at_once;
  const std::int64_t wide = panels_at_once * plan.panel_set_size() / kSumPanels;
  if (cuts.usual.decode_panels || wide <= cuts.usual.panels_per_task) return cuts;
  const std::int64_t panels = panel_count(plan.groups[index].n);
  cuts.wide.panels_per_task = wide;
  cuts.wide.task_count = cuts.wide.tasks_per_panel_set * small_div_ceil(panels, wide);
  cuts.wide_from = divide_up(kTasksPerThread * plan.thread_count, cuts.wide.task_count);
  return cuts;
}

// Experts of a layer are alike and have few rows each, so nearly every cut is looked up.
constexpr std::int64_t kTabledRows = 512;

void table_cuts(CpuPlan& plan) {
  const auto alike = [&](const GroupPlan& group) {
    const GroupPlan& first = plan.groups.front();
    return group.n == first.n && group.superblock_count == first.superblock_count;
  };
  if (!std::all_of(plan.groups.begin(), plan.groups.end(), alike)) return;
  const std::int64_t rows_max = std::min(plan.tokens_max, kTabledRows);
  plan.cut_of_rows.emplace_back();
  for (std::int64_t rows = 1; rows <= rows_max; ++rows) {
    plan.cut_of_rows.push_back(compute_cuts(plan, 0, rows));
  }
}

// A group of so many rows, where so many groups have any.
void cut_group(const CpuPlan& plan, std::size_t index, std::int64_t rows, std::int64_t group_count,
               GroupCut& cut) {
  const auto pick = [&](const CutOfRows& cuts) {
    cut = group_count < cuts.wide_from ? cuts.usual : cuts.wide;
  };
  if (rows < static_cast<std::int64_t>(plan.cut_of_rows.size())) {
    pick(plan.cut_of_rows[static_cast<std::size_t>(rows)]);
  } else {
    pick(compute_cuts(plan, index, rows));
  }
  cut.group_index = static_cast<std::int32_t>(index);
}

// For tiles of no rows to kTileRowsMax.
std::array<int, kTileRowsMax + 1> panels_at_once(const CpuPlan& plan) {
  std::array<int, kTileRowsMax + 1> panels;
  panels.fill(plan.tile_panels);
  if (plan.kernels->direct_tile == nullptr) return panels;
  for (int rows = 1; rows <= plan.tile_rows; ++rows) {
    for (int more = 2 * plan.tile_panels; more <= plan.kernels->few_rows_panels_max; more *= 2) {
      if (plan.kernels->direct_tile(rows, more) == nullptr) break;
      panels[static_cast<std::size_t>(rows)] = more;
    }
  }
  return panels;
}

// The most that any distribution of the tokens can need.
class Arranger {
 public:
  explicit Arranger(CpuPlan& plan) : plan_(plan) {
    for (const GroupPlan& group : plan.groups) {
      n_max_ = std::max(n_max_, group.n);
      superblocks_max_ = std::max(superblocks_max_, group.superblock_count);
    }
  }

  void arrange() {
    const std::size_t group_count = plan_.groups.size();
    take(group_count * sizeof(GroupBuffers));
    plan_.count_offset = take(group_count * sizeof(std::uint32_t));
    plan_.cut_offset = take(group_count * sizeof(GroupCut));
    plan_.activation_offset = take(activation_bytes());
    plan_.gate_offset = take(gate_bytes());
    arrange_scratch();
  }

 private:
  std::size_t take(std::size_t bytes) {
    const std::size_t offset = plan_.workspace_bytes;
    plan_.workspace_bytes += aligned(bytes);
    return offset;
  }

  // A tile is as high as the highest of its group, and begins at a multiple of kAlignment.
  std::size_t activation_bytes() const {
    const std::int64_t tokens = plan_.tokens_max;
    const std::int64_t groups =
        std::min<std::int64_t>(tokens, static_cast<std::int64_t>(plan_.groups.size()));
    const auto tiles = static_cast<std::size_t>(tokens / plan_.tile_rows + groups);
    const std::size_t row_bytes = plan_.kernels->activation_bytes(1, superblocks_max_);
    return (static_cast<std::size_t>(tokens) + tiles) * row_bytes + tiles * kAlignment;
  }

  std::size_t gate_bytes() const {
    if (!plan_.two_pass()) return 0;
    const std::size_t alignment = plan_.groups.size() * kAlignment;
    return static_cast<std::size_t>(plan_.tokens_max * n_max_) * sizeof(float) + alignment;
  }

  void arrange_scratch() {
    const std::int64_t rows_max =
        std::min(plan_.tokens_max, plan_.tiles_per_task * plan_.tile_rows);
    plan_.sums_bytes =
        aligned(static_cast<std::size_t>(rows_max + kTileRowsMax) * kSumColumns * sizeof(float));
    plan_.scratch_bytes = plan_.sums_bytes;
    if (decodes_panels(plan_, plan_.tokens_max)) {
      const std::int64_t chunk = std::min<std::int64_t>(
          superblocks_max_, plan_.variant.chunk_elements / kSuperblockElements);
      const int slots = plan_.variant.roles == Roles::kSplit ? kRingSlots : 1;
      plan_.scratch_bytes += aligned(plan_.kernels->decoded_bytes(kSumPanels, chunk)) *
                             static_cast<std::size_t>(slots);
    }
    plan_.scratch_offset = take(plan_.scratch_bytes * static_cast<std::size_t>(plan_.thread_count));
  }

  CpuPlan& plan_;
  std::int64_t n_max_ = 0;
  std::int64_t superblocks_max_ = 0;
};

// The last group whose pieces begin at or before `index`.
template <std::int64_t GroupCut::*kFirst>
const GroupCut& group_at(const Cut& cut, std::int64_t index) {
  const auto behind = std::upper_bound(
      cut.groups.begin(), cut.groups.end(), index,
      [](std::int64_t value, const GroupCut& group) { return value < group.*kFirst; });
  return *(behind - 1);
}

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

CpuPlan make_plan(const Problem& problem, const Variant& variant, int thread_count,
                  std::int64_t tokens_max) {
  THRESHER_ASSERT(supports(variant, problem, thread_count).ok);
  CpuPlan plan;
  plan.variant = variant;
  plan.body = &body(variant.isa);
  plan.kernels = &plan.body->kernels(problem.activations);
  plan.op = problem.op;
  plan.output = problem.output;
  plan.thread_count = thread_count;
  plan.tile_panels = std::min(variant.tile_columns / kPanelColumns, plan.kernels->tile_panels_max);
  const Cuts cuts(variant, *plan.kernels);
  plan.tile_rows = cuts.tile_rows;
  plan.panels_at_once = panels_at_once(plan);
  plan.tiles_per_task = cuts.tiles_per_task;
  plan.panels_per_task = cuts.panels_per_task;
  plan.tokens_max = std::max(tokens_max, token_count(problem));
  std::vector<std::uint32_t> row_counts;
  for (const Group& group : problem.groups) {
    plan.groups.push_back(
        {.n = group.n,
         .superblock_count = superblock_count(group.k),
         .activation_row_bytes = plan.kernels->activation_bytes(1, superblock_count(group.k))});
    row_counts.push_back(static_cast<std::uint32_t>(group.m));
  }
  Arranger(plan).arrange();
  if (plan.groups.size() > 1) table_cuts(plan);
  plan.group_cuts.resize(problem.groups.size());
  const Cut cut = cut_rows(plan, row_counts, plan.group_cuts);
  plan.group_cuts.resize(cut.groups.size());
  plan.tile_count = cut.tile_count;
  plan.task_count = cut.task_count;
  return plan;
}

Cut cut_rows(const CpuPlan& plan, std::span<const std::uint32_t> row_counts,
             std::span<GroupCut> storage) {
  THRESHER_ASSERT(row_counts.size() == plan.groups.size() && storage.size() >= row_counts.size());
  OrderByRows order(row_counts);
  const std::size_t group_count = order.group_count();
  std::int64_t first_row = 0;
  for (std::size_t index = 0; index < row_counts.size(); ++index) {
    const std::uint32_t rows = row_counts[index];
    if (rows == 0) continue;
    GroupCut& group = storage[order.next(rows)];
    cut_group(plan, index, rows, static_cast<std::int64_t>(group_count), group);
    group.first_row = first_row;
    first_row += rows;
  }
  Cut cut{.groups = storage.first(group_count)};
  std::size_t activation_offset = plan.activation_offset;
  std::size_t gate_offset = plan.gate_offset;
  for (GroupCut& group : storage.first(group_count)) {
    group.first_tile = cut.tile_count;
    group.first_task = cut.task_count;
    group.activation_offset = activation_offset;
    group.gate_offset = gate_offset;
    cut.tile_count += group.tile_count;
    cut.task_count += group.task_count;
    activation_offset += group.tile_bytes * static_cast<std::size_t>(group.tile_count);
    if (!plan.two_pass()) continue;
    const std::int64_t n = plan.groups[static_cast<std::size_t>(group.group_index)].n;
    gate_offset += aligned(static_cast<std::size_t>(group.row_count * n) * sizeof(float));
  }
  THRESHER_ASSERT(activation_offset <= plan.gate_offset && gate_offset <= plan.scratch_offset);
  return cut;
}

TokenTile tile_of(const GroupCut& group, std::int64_t index) {
  const std::int64_t first = group.row_count * index / group.tile_count;
  const std::int64_t behind = group.row_count * (index + 1) / group.tile_count;
  return {.group_index = group.group_index,
          .row_count = static_cast<std::int32_t>(behind - first),
          .first_row = first,
          .activation_offset =
              group.activation_offset + group.tile_bytes * static_cast<std::size_t>(index)};
}

const GroupCut& group_of_tile(const Cut& cut, std::int64_t index) {
  return group_at<&GroupCut::first_tile>(cut, index);
}

TokenTile tile_at(const Cut& cut, std::int64_t index) {
  const GroupCut& group = group_of_tile(cut, index);
  return tile_of(group, index - group.first_tile);
}

Task task_at(const CpuPlan& plan, const Cut& cut, std::int64_t index) {
  const GroupCut& group = group_at<&GroupCut::first_task>(cut, index);
  const std::int64_t in_group = index - group.first_task;
  const std::int64_t tile = in_group % group.tasks_per_panel_set * plan.tiles_per_task;
  const std::int64_t panel = in_group / group.tasks_per_panel_set * group.panels_per_task;
  const std::int64_t panels =
      panel_count(plan.groups[static_cast<std::size_t>(group.group_index)].n);
  return {
      .group = &group,
      .first_token_tile = tile,
      .token_tile_count = static_cast<int>(std::min(plan.tiles_per_task, group.tile_count - tile)),
      .first_panel = panel,
      .panel_count = std::min(group.panels_per_task, panels - panel)};
}

}  // namespace thresher::cpu
