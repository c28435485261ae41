// SPDX-License-Identifier: Apache-2.0
#include "gpu/gemm/gemm_plan.hpp"

#include <gtest/gtest.h>

namespace thresher::gpu {
namespace {

Problem problem_of(std::int64_t group_count, std::int64_t m, Op op = Op::kGemm) {
  Problem problem{.name = "plan", .op = op};
  problem.groups.assign(static_cast<std::size_t>(group_count), {.m = m, .n = 4096, .k = 7168});
  return problem;
}

TEST(GemmPlan, GroupedLaunchFillsTheDevice) {
  const Problem problem = problem_of(8, 128);
  const GemmPlan plan = make_plan({}, {.problem = problem, .token_limit = 1024});
  ASSERT_EQ(plan.launches.size(), 1u);
  const GemmLaunch& launch = plan.launches.front();
  EXPECT_EQ(launch.block_count, 132);
  EXPECT_EQ(launch.thread_count, 384);
  EXPECT_EQ(launch.register_count, 168);
  EXPECT_EQ(launch.group_count, 8u);
  EXPECT_EQ(launch.shared_bytes, 4 * (128 * 128 + 4608) + 80u + 1040u);
  EXPECT_EQ(consumer_registers(launch.config), 232);
  // 1024 tokens, and each of the 8 groups may have 63 columns of padding; 112 images of each.
  EXPECT_EQ(plan.workspace.bytes, std::size_t{1024 + 8 * 63} * 112 * 128);
  EXPECT_EQ(plan.workspace.counter_bytes, 0u);
}

TEST(GemmPlan, OneLaunchPerGroupAndPass) {
  const Problem problem = problem_of(3, 64, Op::kDual);
  for (const Launches launches : {Launches::kPerGroup, Launches::kStreams}) {
    const GemmKnobs knobs{
        .tokens = 64, .weight_rows = 256, .launches = launches, .dual = Dual::kTwoPass};
    const GemmPlan plan = make_plan(knobs, {.problem = problem, .token_limit = 192});
    ASSERT_EQ(plan.launches.size(), 6u);
    for (std::uint32_t i = 0; i < 6; ++i) {
      EXPECT_EQ(plan.launches[i].first_group, i / 2);
      EXPECT_EQ(plan.launches[i].group_count, 1u);
      EXPECT_EQ(plan.launches[i].config.product,
                i % 2 == 0 ? Product::kGatePass : Product::kUpPass);
    }
    EXPECT_EQ(plan.workspace.gate_stride_elements, 4096u);
    EXPECT_GE(plan.workspace.bytes - plan.workspace.gates, 192u * 4096 * 4);
  }
}

TEST(GemmPlan, SplitKHasRoomForEveryPart) {
  const Problem problem = problem_of(2, 16);
  const GemmKnobs knobs{.tokens = 16, .split_k = 4};
  const GemmPlan plan = make_plan(knobs, {.problem = problem, .token_limit = 32});
  // 32 tokens in at most 3 tiles of 16 tokens, by 32 tiles of rows.
  EXPECT_EQ(plan.workspace.counter_bytes, std::size_t{3} * 32 * 2 * 4);
  EXPECT_EQ(plan.workspace.counters - plan.workspace.partials,
            std::size_t{3} * 32 * 4 * 128 * 16 * 4);
}

TEST(GemmPlan, BalancedLaunchesHaveSlotsOfTheirOwn) {
  const Problem problem = problem_of(3, 256);
  const GemmKnobs knobs{.schedule = Schedule::kBalanced, .launches = Launches::kPerGroup};
  const GemmPlan plan = make_plan(knobs, {.problem = problem, .token_limit = 768});
  const GemmLaunch& last = plan.launches.back();
  EXPECT_EQ(last.block_count, 132);
  EXPECT_EQ(last.partial_offset, std::size_t{2} * 132 * 2 * 128 * 128 * 4);
  EXPECT_EQ(last.counter_offset, std::size_t{2} * 132 * 2 * 4);
  EXPECT_EQ(plan.workspace.counter_bytes, std::size_t{3} * 132 * 2 * 4);
}

TEST(GemmPlan, APrologueInsideIsNoLaunch) {
  const GemmKnobs inside{.prologue = Prologue::kInside};
  const Problem problem = problem_of(3, 256);
  const GemmPlan plan = make_plan(inside, {.problem = problem, .token_limit = 768});
  EXPECT_FALSE(plan.images.has_value());
  EXPECT_EQ(plan.launches.size(), 1u);
  EXPECT_EQ(plan.workspace.image_counter_offset, 0u);
  EXPECT_EQ(plan.workspace.counter_bytes, 8u);
  EXPECT_EQ(plan.launches.front().config.activations, ActivationType::kNvfp4);
}

// A GEMM of many tokens has the SM for itself; one of few leaves room for a block of the prologue.
TEST(GemmPlan, NarrowTilesLeaveRegistersToThePrologue) {
  const auto registers_of = [](const GemmKnobs& knobs) {
    const Problem problem = problem_of(3, 16);
    return make_plan(knobs, {.problem = problem, .token_limit = 48}).launches[0].register_count;
  };
  EXPECT_EQ(registers_of({.tokens = 16}), 128);
  EXPECT_LE(384 * 128 + kImageThreads * 64, kRegistersPerSm);
  EXPECT_EQ(registers_of({.tokens = 32}), 168);
  EXPECT_EQ(registers_of({.tokens = 16, .prologue = Prologue::kInside}), 168);
}

TEST(GemmPlan, ProblemWithoutTokensStillHasLaunches) {
  const Problem problem = problem_of(2, 0);
  const GemmPlan plan = make_plan({}, {.problem = problem, .token_limit = 0});
  EXPECT_EQ(plan.images->block_count, 1);
  EXPECT_EQ(plan.launches.front().block_count, 1);
  EXPECT_EQ(plan.workspace.bytes, 0u);
}

}  // namespace
}  // namespace thresher::gpu
