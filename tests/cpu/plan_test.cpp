// SPDX-License-Identifier: Apache-2.0
#include "cpu/plan.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace thresher::cpu {
namespace {

Problem ragged_problem() {
  return {.name = "ragged",
          .groups = {{.m = 0, .n = 64, .k = 64},
                     {.m = 1, .n = 17, .k = 16},
                     {.m = 300, .n = 100, .k = 128},
                     {.m = 33, .n = 1, .k = 80}}};
}

TEST(Plan, CoversEveryElementExactlyOnce) {
  const Problem problem = ragged_problem();
  for (const Variant& variant : named_variants(Isa::kPortable)) {
    if (!supports(variant, problem, 2).ok) continue;
    const CpuPlan plan = make_plan(problem, variant, 2);
    std::vector<std::vector<int>> written;
    for (const Group& group : problem.groups) {
      written.emplace_back(static_cast<std::size_t>(group.m * panel_count(group.n)), 0);
    }
    const Cut cut = plan.cut();
    for (std::int64_t t = 0; t < cut.task_count; ++t) {
      const Task task = task_at(plan, cut, t);
      const auto group = static_cast<std::size_t>(task.group->group_index);
      const std::int64_t panels = panel_count(problem.groups[group].n);
      for (int i = 0; i < task.token_tile_count; ++i) {
        const TokenTile tile = tile_of(*task.group, task.first_token_tile + i);
        ASSERT_EQ(tile.group_index, task.group->group_index);
        for (std::int64_t row = tile.first_row; row < tile.first_row + tile.row_count; ++row) {
          for (std::int64_t p = task.first_panel; p < task.first_panel + task.panel_count; ++p) {
            ++written[group][static_cast<std::size_t>(row * panels + p)];
          }
        }
      }
    }
    for (const std::vector<int>& group : written) {
      EXPECT_EQ(group, std::vector<int>(group.size(), 1)) << name(variant);
    }
  }
}

TEST(Plan, BalancesTokenTiles) {
  Problem problem = ragged_problem();
  problem.groups = {{.m = 33, .n = 16, .k = 16}};
  const CpuPlan plan = make_plan(problem, default_variant(Isa::kPortable), 1);
  ASSERT_EQ(plan.tile_count, 2);
  EXPECT_EQ(tile_at(plan.cut(), 0).row_count, 16);
  EXPECT_EQ(tile_at(plan.cut(), 1).row_count, 17);
}

TEST(Plan, StartsWithTheGroupThatHasMostRows) {
  const CpuPlan plan = make_plan(ragged_problem(), default_variant(Isa::kPortable), 1);
  EXPECT_EQ(task_at(plan, plan.cut(), 0).group->group_index, 2);
  EXPECT_EQ(task_at(plan, plan.cut(), plan.task_count - 1).group->group_index, 1);
}

// Activations of all tiles, then gates of all groups, then scratch, none inside another.
void expect_apart(const CpuPlan& plan, const Cut& cut) {
  std::size_t end = plan.activation_offset;
  for (std::int64_t i = 0; i < cut.tile_count; ++i) {
    const TokenTile tile = tile_at(cut, i);
    const auto group = static_cast<std::size_t>(tile.group_index);
    EXPECT_GE(tile.activation_offset, end);
    end = tile.activation_offset +
          plan.kernels->activation_bytes(tile.row_count, plan.groups[group].superblock_count);
  }
  for (const GroupCut& group : cut.groups) {
    EXPECT_GE(group.gate_offset, end);
    const std::int64_t n = plan.groups[static_cast<std::size_t>(group.group_index)].n;
    end = group.gate_offset + static_cast<std::size_t>(group.row_count * n) * sizeof(float);
  }
  EXPECT_GE(plan.scratch_offset, end);
}

TEST(Plan, KeepsWorkspaceRegionsApart) {
  Problem problem = ragged_problem();
  problem.op = Op::kDual;
  Variant variant = default_variant(Isa::kPortable);
  variant.dual = Dual::kTwoPass;
  const CpuPlan plan = make_plan(problem, variant, 3);
  expect_apart(plan, plan.cut());
  EXPECT_EQ(plan.workspace_bytes, plan.scratch_offset + 3 * plan.scratch_bytes);
}

TEST(Plan, HasRoomForAnyDistributionOfItsTokens) {
  Problem problem{.name = "any", .groups = std::vector<Group>(5, {.m = 0, .n = 48, .k = 80})};
  problem.op = Op::kDual;
  Variant variant = default_variant(Isa::kPortable);
  variant.dual = Dual::kTwoPass;
  for (const std::int64_t tokens : {1, 2, 31, 33, 130}) {
    const CpuPlan plan = make_plan(problem, variant, 2, tokens);
    for (std::uint32_t first = 0; first <= tokens; ++first) {
      const std::uint32_t left = static_cast<std::uint32_t>(tokens) - first;
      const std::vector<std::uint32_t> counts{left / 3, first, 0, left / 7,
                                              left - left / 3 - left / 7};
      std::vector<GroupCut> storage(counts.size());
      const Cut cut = cut_rows(plan, counts, storage);
      std::int64_t rows = 0;
      for (const GroupCut& group : cut.groups) rows += group.row_count;
      EXPECT_EQ(rows, tokens);
      expect_apart(plan, cut);
    }
  }
}

}  // namespace
}  // namespace thresher::cpu
