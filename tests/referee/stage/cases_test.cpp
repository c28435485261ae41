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
  EXPECT_EQ(cases.size(), 3u * 3 + 2u * 3 + 2u) << "and one near the largest of each kind";
  std::set<std::pair<Op, InputFamily>> hidden;
  for (const Case& one : cases) {
    thresher::check(one.problem);
    if (one.hidden) hidden.insert({one.problem.op, one.family});
  }
  EXPECT_EQ(hidden.size(), 6u);
}

// For every extent of the suite a hidden problem of the same kind comes within an eighth of it.
TEST(Cases, HiddenProblemsReachAsFarAsTheSuite) {
  Suite suite = two_kinds();
  suite.problems.push_back(make_problem({1, 2}, 1024, 64));
  suite.problems.push_back(make_problem(std::vector<std::int64_t>(40, 2), 32, 32));
  suite.problems.push_back(make_problem({3, 300}, 48, 96));
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    const std::vector<Case> cases = correctness_cases(suite, random);
    for (const Problem& known : suite.problems) {
      std::size_t groups = 0;
      std::int64_t n = 0;
      std::int64_t k = 0;
      std::int64_t m = 0;
      std::int64_t m_of_largest = 0;
      for (const Case& one : cases) {
        if (!one.hidden || one.problem.op != known.op) continue;
        groups = std::max(groups, one.problem.groups.size());
        for (const Group& group : one.problem.groups) {
          n = std::max(n, group.n);
          k = std::max(k, group.k);
          m = std::max(m, group.m);
          if (8 * group.k >= 7 * known.groups[0].k) m_of_largest = std::max(m_of_largest, group.m);
        }
      }
      EXPECT_GE(8 * n, 7 * known.groups[0].n) << seed;
      EXPECT_GE(8 * (k + 16), 7 * known.groups[0].k) << seed;
      if (known.groups.size() > 4) {
        EXPECT_GE(8 * groups, 7 * known.groups.size()) << seed;
      }
      for (const Group& group : known.groups) EXPECT_GE(8 * m, 7 * group.m) << seed;
      EXPECT_GE(8 * m_of_largest, 7 * known.groups[0].m) << seed;
    }
  }
}

TEST(Cases, HiddenProblemsAreNotInTheSuiteAndNoLarger) {
  const Suite suite = two_kinds();
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    for (const Case& one : correctness_cases(suite, random)) {
      if (!one.hidden) continue;
      for (const Problem& known : suite.problems) EXPECT_NE(one.problem.groups, known.groups);
      EXPECT_LE(flop_count(one.problem), 2.0 * (60 << 19)) << "about the suite's largest";
      const bool near_the_largest = one.problem.groups[0].n > 400;
      if (one.problem.groups.size() == 1 || near_the_largest) continue;
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
