// SPDX-License-Identifier: Apache-2.0
#include "gpu/sm90/gemm_plan.hpp"

#include <gtest/gtest.h>

namespace thresher::gpu::sm90 {
namespace {

Problem problem_of(std::int64_t group_count, std::int64_t m, Op op = Op::kGemm) {
  Problem problem{.name = "plan", .op = op};
  problem.groups.assign(static_cast<std::size_t>(group_count), {.m = m, .n = 4096, .k = 7168});
  return problem;
}

std::string why_not_of(const GemmKnobs& knobs, Op op = Op::kGemm, SmLimits limits = {}) {
  const Problem problem = problem_of(8, 128, op);
  return why_not(knobs,
                 {.problem = problem, .token_limit = token_count(problem), .limits = limits});
}

TEST(GemmPlan, DefaultsRunBothOperations) {
  EXPECT_EQ(why_not_of({}), "");
  EXPECT_EQ(why_not_of({}, Op::kDual), "");
}

TEST(GemmPlan, SaysWhichValueIsNotAllowed) {
  EXPECT_EQ(why_not_of({.tokens = 20}), "tokens = 20 is not a multiple of 8");
  EXPECT_EQ(why_not_of({.tokens = 264}), "tokens = 264 is not between 8 and 256");
  EXPECT_EQ(why_not_of({.tokens = 0}), "tokens = 0 is not between 8 and 256");
  EXPECT_EQ(why_not_of({.kind = GemmKind::kPlain, .tokens = -8}),
            "tokens = -8 is not between 8 and 256");
  EXPECT_EQ(why_not_of({.weight_rows = 160}), "rows = 160 is not one of 128, 192, 256");
  EXPECT_EQ(why_not_of({.consumer_warpgroups = 5}), "warpgroups = 5 is not between 1 and 4");
  EXPECT_EQ(why_not_of({.stages = 1}), "stages = 1 is not between 2 and 32");
  EXPECT_EQ(why_not_of({.fragment_steps = 1}), "steps = 1 is not one of 2, 4");
  EXPECT_EQ(why_not_of({.split_k = 0}), "split_k = 0 is not between 1 and 64");
  EXPECT_EQ(why_not_of({.blocks_per_sm = 9}), "blocks = 9 is not between 1 and 8");
}

TEST(GemmPlan, RefusesWhatDoesNotFit) {
  EXPECT_EQ(why_not_of({.tokens = 256, .stages = 8}),
            "a block would need 300192 bytes of shared memory and may have 232448");
  EXPECT_EQ(why_not_of({.tokens = 64, .stages = 8, .fragment_steps = 2, .blocks_per_sm = 2}), "");
  EXPECT_EQ(why_not_of({.tokens = 64, .stages = 8, .fragment_steps = 2, .blocks_per_sm = 2},
                       Op::kGemm, {.shared_bytes_per_sm = 200 << 10}),
            "2 blocks would need 209216 bytes of shared memory and an SM has 204800");
  EXPECT_NE(why_not_of({.tokens = 256, .weight_rows = 256, .stages = 2})
                .find("a thread would need 256 registers for sums"),
            std::string::npos);
  EXPECT_EQ(why_not_of({.dual = Dual::kTwoPass}), "");  // a gemm has one pass either way
  EXPECT_EQ(why_not_of({.dual = Dual::kTwoPass}, Op::kDual),
            "a pass over dual weights multiplies half of their rows: rows = 128 are too few for "
            "warpgroups = 2");
  const Problem problem = problem_of(8, 128);
  EXPECT_EQ(why_not({}, {.problem = problem, .token_limit = std::int64_t{1} << 31}),
            "2147483648 tokens are not between 0 and 2^31");
}

// Each warpgroup has 64 of the rows, or a multiple of them.
TEST(GemmPlan, RefusesRowsThatCannotBeShared) {
  EXPECT_EQ(why_not_of({.weight_rows = 192}),
            "rows = 192 need a warpgroup for every 64 of them: take warpgroups = 3");
  EXPECT_EQ(why_not_of({.weight_rows = 192, .consumer_warpgroups = 1}),
            "rows = 192 need a warpgroup for every 64 of them: take warpgroups = 3");
  EXPECT_EQ(why_not_of({.consumer_warpgroups = 3}),
            "a warpgroup has 64 rows or a multiple of them: rows = 128 cannot be shared by "
            "warpgroups = 3");
  const GemmKnobs three{.weight_rows = 192, .consumer_warpgroups = 3, .fragment_steps = 2};
  EXPECT_EQ(why_not_of(three), "");
  EXPECT_EQ(why_not_of(three, Op::kDual), "");
  GemmKnobs alone = three;
  alone.specialised = false;
  EXPECT_EQ(why_not_of(alone),
            "rows = 192 leave a consumer no registers to load by: take roles = split");
  GemmKnobs passes = three;
  passes.dual = Dual::kTwoPass;
  EXPECT_EQ(why_not_of(passes), "");
  EXPECT_EQ(why_not_of(passes, Op::kDual),
            "a pass over dual weights takes their rows by 128: rows = 192 are no multiple of that");
}

// Beyond these the compiler spills; widest_of_192_rows() compiles them (hopper_compile_test.cpp).
TEST(GemmPlan, RefusesWideTilesOf192Rows) {
  const auto why_not_wide = [](int tokens, int steps, Schedule schedule) {
    return why_not_of({.tokens = tokens,
                       .weight_rows = 192,
                       .consumer_warpgroups = 3,
                       .stages = 3,
                       .fragment_steps = steps,
                       .schedule = schedule});
  };
  EXPECT_EQ(why_not_wide(80, 4, Schedule::kTiles), "");
  EXPECT_EQ(why_not_wide(88, 4, Schedule::kTiles),
            "a thread would need 44 registers for sums, 32 for fragments and about 78 more, and "
            "has 152: take fewer tokens, rows, steps or blocks, or more warpgroups");
  EXPECT_EQ(why_not_wide(56, 4, Schedule::kBalanced), "");
  EXPECT_NE(why_not_wide(64, 4, Schedule::kBalanced), "");
  EXPECT_EQ(why_not_wide(176, 2, Schedule::kTiles), "");
  EXPECT_NE(why_not_wide(184, 2, Schedule::kTiles), "");
  EXPECT_EQ(why_not_wide(160, 2, Schedule::kBalanced), "");
  EXPECT_NE(why_not_wide(168, 2, Schedule::kBalanced), "");
  GemmKnobs split{.tokens = 56, .weight_rows = 192, .consumer_warpgroups = 3, .split_k = 2};
  EXPECT_EQ(why_not_of(split), "");
  split.tokens = 64;
  EXPECT_NE(why_not_of(split), "");
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
  EXPECT_EQ(why_not_of({.schedule = Schedule::kBalanced, .split_k = 2}),
            "a balanced schedule cuts k by itself: split_k = 2 must be 1");
  const Problem problem = problem_of(3, 256);
  const GemmKnobs knobs{.schedule = Schedule::kBalanced, .launches = Launches::kPerGroup};
  const GemmPlan plan = make_plan(knobs, {.problem = problem, .token_limit = 768});
  const GemmLaunch& last = plan.launches.back();
  EXPECT_EQ(last.block_count, 132);
  EXPECT_EQ(last.partial_offset, std::size_t{2} * 132 * 2 * 128 * 128 * 4);
  EXPECT_EQ(last.counter_offset, std::size_t{2} * 132 * 2 * 4);
  EXPECT_EQ(plan.workspace.counter_bytes, std::size_t{3} * 132 * 2 * 4);
}

// Asks of a dual problem why not `knobs`, with one thing turned.
auto turned(const GemmKnobs& knobs) {
  return [knobs](auto turn) {
    GemmKnobs other = knobs;
    turn(other);
    return why_not_of(other, Op::kDual);
  };
}

TEST(GemmPlan, APrologueInTheGemmNeedsAProducer) {
  const auto but = turned({.prologue = Prologue::kInside});
  EXPECT_EQ(but([](GemmKnobs&) {}), "");
  EXPECT_EQ(but([](GemmKnobs& k) { k.kind = GemmKind::kPlain; }),
            "the plain kernel has a prologue of its own: take prologue = kernel");
  EXPECT_EQ(but([](GemmKnobs& k) { k.specialised = false; }),
            "a prologue inside needs a producer: take roles = split");
}

TEST(GemmPlan, APrologueInsideIsNoLaunch) {
  const GemmKnobs inside{.prologue = Prologue::kInside};
  EXPECT_EQ(why_not_of(inside), "");
  const auto but = turned(inside);
  const std::string one_launch =
      "a prologue inside needs everything in one launch: take launches = grouped and, for dual "
      "problems, dual = fused";
  EXPECT_EQ(but([](GemmKnobs& k) { k.launches = Launches::kStreams; }), one_launch);
  EXPECT_EQ(but([](GemmKnobs& k) { k.dual = Dual::kTwoPass; }), one_launch);

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
}  // namespace thresher::gpu::sm90
