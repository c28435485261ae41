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
    for (const Task& task : plan.tasks) {
      const auto group = static_cast<std::size_t>(task.group_index);
      const std::int64_t panels = panel_count(problem.groups[group].n);
      for (int i = 0; i < task.token_tile_count; ++i) {
        const TokenTile& tile =
            plan.token_tiles[static_cast<std::size_t>(task.first_token_tile + i)];
        ASSERT_EQ(tile.group_index, task.group_index);
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
  ASSERT_EQ(plan.token_tiles.size(), 2u);
  EXPECT_EQ(plan.token_tiles[0].row_count, 16);
  EXPECT_EQ(plan.token_tiles[1].row_count, 17);
}

TEST(Plan, StartsWithTheGroupThatHasMostRows) {
  const CpuPlan plan = make_plan(ragged_problem(), default_variant(Isa::kPortable), 1);
  EXPECT_EQ(plan.tasks.front().group_index, 2);
  EXPECT_EQ(plan.tasks.back().group_index, 1);
}

TEST(Plan, KeepsWorkspaceRegionsApart) {
  Problem problem = ragged_problem();
  problem.op = Op::kDual;
  Variant variant = default_variant(Isa::kPortable);
  variant.dual = Dual::kTwoPass;
  const CpuPlan plan = make_plan(problem, variant, 3);
  std::size_t end = 0;
  for (const TokenTile& tile : plan.token_tiles) {
    const auto group = static_cast<std::size_t>(tile.group_index);
    EXPECT_GE(tile.activation_offset, end);
    end = tile.activation_offset +
          plan.kernels->activation_bytes(tile.row_count, plan.groups[group].superblock_count);
  }
  for (std::size_t i = 0; i < problem.groups.size(); ++i) {
    EXPECT_GE(plan.groups[i].gate_offset, end);
    end = plan.groups[i].gate_offset +
          static_cast<std::size_t>(problem.groups[i].m * problem.groups[i].n) * sizeof(float);
  }
  EXPECT_GE(plan.scratch_offset, end);
  EXPECT_EQ(plan.workspace_bytes, plan.scratch_offset + 3 * plan.scratch_bytes);
}

}  // namespace
}  // namespace thresher::cpu
