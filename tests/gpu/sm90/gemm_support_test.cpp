// SPDX-License-Identifier: Apache-2.0
// Every limit of Hopper's kernels by its sentence.
#include "gpu/sm90/gemm_support.hpp"

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

TEST(HopperSupport, DefaultsRunBothOperations) {
  EXPECT_EQ(why_not_of({}), "");
  EXPECT_EQ(why_not_of({}, Op::kDual), "");
}

TEST(HopperSupport, SaysWhichValueIsNotAllowed) {
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

TEST(HopperSupport, RefusesWhatDoesNotFit) {
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
TEST(HopperSupport, RefusesRowsThatCannotBeShared) {
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
TEST(HopperSupport, RefusesWideTilesOf192Rows) {
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

TEST(HopperSupport, ABalancedScheduleCutsKByItself) {
  EXPECT_EQ(why_not_of({.schedule = Schedule::kBalanced, .split_k = 2}),
            "a balanced schedule cuts k by itself: split_k = 2 must be 1");
}

// Asks of a dual problem why not `knobs`, with one thing turned.
auto turned(const GemmKnobs& knobs) {
  return [knobs](auto turn) {
    GemmKnobs other = knobs;
    turn(other);
    return why_not_of(other, Op::kDual);
  };
}

TEST(HopperSupport, APrologueInTheGemmNeedsAProducer) {
  const auto but = turned({.prologue = Prologue::kInside});
  EXPECT_EQ(but([](GemmKnobs&) {}), "");
  EXPECT_EQ(but([](GemmKnobs& k) { k.kind = GemmKind::kPlain; }),
            "the plain kernel has a prologue of its own: take prologue = kernel");
  EXPECT_EQ(but([](GemmKnobs& k) { k.specialised = false; }),
            "a prologue inside needs a producer: take roles = split");
}

// A prologue inside is one launch with the GEMM.
TEST(HopperSupport, APrologueInsideNeedsOneLaunch) {
  const GemmKnobs inside{.prologue = Prologue::kInside};
  EXPECT_EQ(why_not_of(inside), "");
  const auto but = turned(inside);
  const std::string one_launch =
      "a prologue inside needs everything in one launch: take launches = grouped and, for dual "
      "problems, dual = fused";
  EXPECT_EQ(but([](GemmKnobs& k) { k.launches = Launches::kStreams; }), one_launch);
  EXPECT_EQ(but([](GemmKnobs& k) { k.dual = Dual::kTwoPass; }), one_launch);
}

}  // namespace
}  // namespace thresher::gpu::sm90
