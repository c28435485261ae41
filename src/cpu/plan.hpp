// SPDX-License-Identifier: Apache-2.0
// A problem cut into token tiles and tasks for one variant, and the layout of the scratch memory.
//
// Plain data, made once; run.cpp only walks it. Every element of C belongs to exactly one task.
#pragma once

#include <cstddef>
#include <cstdint>
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
  std::int64_t first_row = 0;
  std::size_t activation_offset = 0;  // bytes from the start of the workspace
};

// A rectangle of one group's C: some token tiles by some panels of 16 columns.
struct Task {
  std::int32_t group_index = 0;
  std::int32_t first_token_tile = 0;
  std::int32_t token_tile_count = 0;
  std::int64_t first_panel = 0;
  std::int64_t panel_count = 0;
};

struct GroupPlan {
  std::int64_t n = 0;
  std::int64_t superblock_count = 0;
  bool decode_panels = false;
  std::size_t gate_offset = 0;  // two-pass dual: m x n floats in the workspace
  std::size_t first_task = 0;
  std::size_t task_count = 0;
};

struct CpuPlan {
  Variant variant;
  const Body* body = nullptr;
  const Kernels* kernels = nullptr;
  Op op = Op::kGemm;
  Output output = Output::kFp16;
  int tile_panels = 1;  // panels one tile call multiplies
  int thread_count = 1;
  std::vector<GroupPlan> groups;
  std::vector<TokenTile> token_tiles;
  std::vector<Task> tasks;  // groups with many rows first, so that no long task ends the run

  // Workspace: the call's table of group buffers, packed activations, gate products, then for each
  // thread its sums and decoded chunks.
  std::size_t scratch_offset = 0;
  std::size_t scratch_bytes = 0;  // per thread
  std::size_t sums_bytes = 0;     // the first part of a thread's scratch
  std::size_t workspace_bytes = 0;

  bool two_pass() const { return op == Op::kDual && variant.dual == Dual::kTwoPass; }
  // Panels of C that a task computes at a time: of a fused dual one, from a gate and an up panel.
  int panel_set_size() const { return op == Op::kDual && !two_pass() ? 1 : kTilePanelsMax; }
};

// A plan lists its token tiles and tasks. With this many the list takes a gigabyte, and with
// default knobs C has 2^38 elements; an absurd problem must be refused before it fills the memory.
inline constexpr std::int64_t kPieceCountMax = std::int64_t{1} << 25;

// Empty, or why the plan would be too large to list. The variant's kernels take the activations.
std::string why_not_size(const Problem& problem, const Variant& variant);

// `variant` must support `problem`.
CpuPlan make_plan(const Problem& problem, const Variant& variant, int thread_count);

// Slots of decoded chunks that a decoding thread may run ahead of its multiplying thread.
inline constexpr int kRingSlots = 4;

}  // namespace thresher::cpu
