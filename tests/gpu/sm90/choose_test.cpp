// SPDX-License-Identifier: Apache-2.0
#include "gpu/sm90/choose.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace thresher::gpu::sm90 {
namespace {

Problem problem_of(int groups, std::int64_t m, std::int64_t n, std::int64_t k, Op op = Op::kGemm) {
  Problem problem{.name = "p", .op = op};
  problem.groups.assign(static_cast<std::size_t>(groups), {.m = m, .n = n, .k = k});
  return problem;
}

Variant choice(const Problem& problem) { return choose(problem, token_count(problem), {}); }

TEST(Choose, FewTokensTakeNarrowTiles) {
  for (const std::int64_t m : {1, 4, 8}) {
    EXPECT_EQ(choice(problem_of(8, m, 4096, 7168)).knobs.tokens, 8) << m;
  }
  EXPECT_EQ(choice(problem_of(8, 16, 4096, 7168)).knobs.tokens, 16);
  EXPECT_EQ(choice(problem_of(32, 30, 4096, 7168)).knobs.tokens, 32);
}

TEST(Choose, ManyTokensTakeWideTilesOf256Rows) {
  const GemmKnobs knobs = choice(problem_of(8, 128, 4096, 7168)).knobs;
  EXPECT_EQ(knobs.tokens, 128);
  EXPECT_EQ(knobs.weight_rows, 256);
}

TEST(Choose, TooFewHighTilesAreHalved) {
  EXPECT_EQ(choice(problem_of(1, 512, 4096, 1536)).knobs.weight_rows, 128);
}

// Whatever is asked, the choice is one of those it says it takes from, and can run it.
TEST(Choose, CanRunWhatItIsChosenFor) {
  const std::vector<Variant> all = choices();
  std::srand(1);
  for (int repeat = 0; repeat < 200; ++repeat) {
    Problem problem{.name = "p", .op = repeat % 2 == 0 ? Op::kGemm : Op::kDual};
    problem.output = repeat % 3 == 0 ? Output::kFp32 : Output::kBf16;
    for (int group = std::rand() % 40; group >= 0; --group) {
      problem.groups.push_back({.m = std::rand() % (1 << std::rand() % 12),
                                .n = 1 + std::rand() % 8192,
                                .k = 16 * (1 + std::rand() % 600)});
    }
    const Variant variant = choice(problem);
    EXPECT_TRUE(supports(variant, problem, {}).ok) << name(variant);
    EXPECT_NE(std::find(all.begin(), all.end(), variant), all.end()) << name(variant);
  }
}

}  // namespace
}  // namespace thresher::gpu::sm90
