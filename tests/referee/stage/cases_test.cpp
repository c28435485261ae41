// SPDX-License-Identifier: Apache-2.0
#include "referee/stage/cases.hpp"

#include <gtest/gtest.h>

#include <set>

#include "support/scene.hpp"

namespace thresher::referee {
namespace {

using thresher::testing::make_problem;

Suite two_kinds() {
  Suite suite{.name = "two kinds"};
  suite.problems.push_back(make_problem({20, 30}, 512, 1024));
  suite.problems.push_back(make_problem({8}, 64, 64, Op::kDual, Activations::kBf16, Output::kFp16));
  suite.problems.push_back(make_problem({10, 30, 7}, 256, 512));
  return suite;
}

TEST(Cases, SmokeIsTheSmallestProblem) { EXPECT_EQ(smoke_case(two_kinds()).problem.op, Op::kDual); }

TEST(Cases, AllFamiliesOfTheSuiteAndOfHiddenProblemsOfEachKind) {
  const Suite suite = two_kinds();
  Random random(1);
  const std::vector<Case> cases = correctness_cases(suite, random);
  EXPECT_EQ(cases.size(), 3u * 3 + 2u * 3);
  std::set<std::pair<Op, InputFamily>> hidden;
  for (const Case& one : cases) {
    check(one.problem);
    if (one.hidden) hidden.insert({one.problem.op, one.family});
  }
  EXPECT_EQ(hidden.size(), 6u);
}

TEST(Cases, HiddenProblemsAreNotInTheSuiteAndSmall) {
  const Suite suite = two_kinds();
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    for (const Case& one : correctness_cases(suite, random)) {
      if (!one.hidden) continue;
      for (const Problem& known : suite.problems) EXPECT_NE(one.problem.groups, known.groups);
      EXPECT_LT(flop_count(one.problem), 2.0 * (1 << 24));
      if (one.problem.groups.size() == 1) continue;
      bool has_empty = false;
      for (const Group& group : one.problem.groups) has_empty = has_empty || group.m == 0;
      EXPECT_TRUE(has_empty);
    }
  }
}

TEST(Cases, DifferFromSeedToSeed) {
  Random first(1);
  Random second(2);
  EXPECT_NE(correctness_cases(two_kinds(), first).back().problem.groups,
            correctness_cases(two_kinds(), second).back().problem.groups);
}

TEST(Cases, ATinySuiteStillHasHiddenProblems) {
  Suite suite{.name = "least"};
  suite.problems.push_back(make_problem({1}, 1, 16));
  Random random(3);
  for (const Case& one : correctness_cases(suite, random)) {
    if (one.hidden) {
      EXPECT_NE(one.problem.groups, suite.problems[0].groups);
    }
  }
}

TEST(Cases, CoarseProblemsHaveWholeTiles) {
  const Problem coarse = made_coarse(make_problem({3, 0}, 129, 16));
  EXPECT_EQ(coarse.groups[0].m, 3);
  EXPECT_EQ(coarse.groups[0].n, 256);
  EXPECT_EQ(coarse.groups[0].k, 256);
  EXPECT_EQ(made_coarse(coarse).groups, coarse.groups);
}

}  // namespace
}  // namespace thresher::referee
