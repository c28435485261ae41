// SPDX-License-Identifier: Apache-2.0
// A problem prepared for one variant, the layout of the scratch memory, and how the rows of a call
// are cut into token tiles and tasks.
//
// A plan is plain data, made once. It serves any distribution of its tokens over the groups: a cut
// says how many rows each group has in a call, and is a few numbers per group, so that making one
// is cheap. Tiles and tasks are worked out of it where they are needed (run.cpp). Every element of
// C belongs to exactly one task.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cpu/body.hpp"
#include "cpu/variant.hpp"
#include "thresher/problem.hpp"

namespace thresher::cpu {

// Rows of A that share a register tile: packed together, multiplied together.
struct TokenTile {
  std::int32_t group_index = 0;
  std::int32_t row_count = 0;
  std::int64_t first_row = 0;         // in its group
  std::size_t activation_offset = 0;  // bytes from the start of the workspace
};

// The rows of one group in a call.
struct GroupCut {
  std::int32_t group_index = 0;
  bool decode_panels = false;
  std::int64_t row_count = 0;
  std::int64_t first_row = 0;   // among the rows of all groups
  std::int64_t first_tile = 0;  // among the token tiles of all groups
  std::int64_t tile_count = 0;
  std::int64_t first_task = 0;  // among the tasks of all groups
  std::int64_t task_count = 0;
  std::int64_t tasks_per_panel_set = 0;  // that the token tiles are dealt out to
  std::int64_t panels_per_task = 0;
  int panels_at_once = 1;             // of weights, that a direct tile multiplies
  std::size_t activation_offset = 0;  // of the first tile
  std::size_t tile_bytes = 0;         // from one tile's activations to the next's
  std::size_t gate_offset = 0;        // two-pass dual: row_count x n floats in the workspace
};

// How a group of so many rows is cut, wherever it stands: into the usual tasks, or where there are
// many groups into fewer and wider ones.
struct CutOfRows {
  GroupCut usual;
  GroupCut wide;
  std::int64_t wide_from = 0;  // groups that have rows
};

// A rectangle of one group's C: some token tiles by some panels of 16 columns.
struct Task {
  const GroupCut* group = nullptr;
  std::int64_t first_token_tile = 0;  // in its group
  int token_tile_count = 0;
  std::int64_t first_panel = 0;
  std::int64_t panel_count = 0;
};

// All groups of a call that have rows, those with many first, so that no long task ends the run.
struct Cut {
  std::span<const GroupCut> groups;
  std::int64_t tile_count = 0;
  std::int64_t task_count = 0;
};

struct GroupPlan {
  std::int64_t n = 0;
  std::int64_t superblock_count = 0;
  std::size_t activation_row_bytes = 0;  // packed; those of a tile are as many times that
};

struct CpuPlan {
  Variant variant;
  const Body* body = nullptr;
  const Kernels* kernels = nullptr;
  Op op = Op::kGemm;
  Output output = Output::kFp16;
  int tile_panels = 1;  // panels one tile call multiplies
  int thread_count = 1;
  int tile_rows = 1;  // rows of a register tile, at most
  std::int64_t tiles_per_task = 1;
  std::int64_t panels_per_task = 1;
  std::int64_t tokens_max = 0;  // of all groups together in a call
  // Panels of weights that direct tiles of so many rows multiply at once.
  std::array<int, kTileRowsMax + 1> panels_at_once = {};
  std::vector<GroupPlan> groups;
  // Where all groups are alike: how a group of so many rows is cut, for the smaller numbers.
  std::vector<CutOfRows> cut_of_rows;
  // Of the rows that the problem says.
  std::vector<GroupCut> group_cuts;
  std::int64_t tile_count = 0;
  std::int64_t task_count = 0;

  // Workspace: the call's table of group buffers, its row counts, its cut, packed activations, gate
  // products, then for each thread its sums and decoded chunks.
  std::size_t count_offset = 0;
  std::size_t cut_offset = 0;
  std::size_t activation_offset = 0;
  std::size_t gate_offset = 0;
  std::size_t scratch_offset = 0;
  std::size_t scratch_bytes = 0;  // per thread
  std::size_t sums_bytes = 0;     // the first part of a thread's scratch
  std::size_t workspace_bytes = 0;

  Cut cut() const { return {group_cuts, tile_count, task_count}; }
  bool two_pass() const { return op == Op::kDual && variant.dual == Dual::kTwoPass; }
  // Panels of C that a task computes at a time: of a fused dual one, from a gate and an up panel.
  int panel_set_size() const { return op == Op::kDual && !two_pass() ? 1 : kSumPanels; }
};

// With this many token tiles and tasks and default knobs C has 2^38 elements: an absurd problem is
// refused before its workspace fills the memory.
inline constexpr std::int64_t kPieceCountMax = std::int64_t{1} << 25;

// Empty, or why the problem is too large. The variant's kernels take the activations.
std::string why_not_size(const Problem& problem, const Variant& variant);

// `variant` must support `problem`. The plan serves `tokens_max` tokens, or as many as the problem
// has if those are more.
CpuPlan make_plan(const Problem& problem, const Variant& variant, int thread_count,
                  std::int64_t tokens_max = 0);

// Cuts the rows of a call, one count per group, plan.tokens_max at most together. `storage` has
// room for every group; nothing is allocated.
Cut cut_rows(const CpuPlan& plan, std::span<const std::uint32_t> row_counts,
             std::span<GroupCut> storage);

// The group of a tile, the tile, and the task with a number among those of all groups.
const GroupCut& group_of_tile(const Cut& cut, std::int64_t index);
TokenTile tile_at(const Cut& cut, std::int64_t index);
Task task_at(const CpuPlan& plan, const Cut& cut, std::int64_t index);
// A tile of a group.
TokenTile tile_of(const GroupCut& group, std::int64_t index);

// Slots of decoded chunks that a decoding thread may run ahead of its multiplying thread.
inline constexpr int kRingSlots = 4;

}  // namespace thresher::cpu
