// SPDX-License-Identifier: Apache-2.0
// The plans of a heat. That a heat is played as planned shows in match_test.cpp.
#include "referee/timing/heats.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <utility>

namespace thresher::referee {
namespace {

constexpr int kPlanCount = 3000;

// So many of kPlanCount that happen one time in `one_in`, give or take 5 standard deviations.
void expect_one_in(int one_in, int found) {
  const double share = 1.0 / one_in;
  const double sd = std::sqrt(kPlanCount * share * (1 - share));
  EXPECT_NEAR(found, kPlanCount * share, 5 * sd);
}

TEST(PlanSweeps, HaveEveryProblemOnceAndTheControlsTheirShare) {
  Random random(1);
  std::map<Pairing, int> counts;
  for (const Sweep& sweep : plan_sweeps(2, 6, 2, random)) {
    ++counts[sweep.front().pairing];
    ASSERT_EQ(sweep.size(), 2u);
    EXPECT_EQ(sweep[0].pairing, sweep[1].pairing);
    EXPECT_NE(sweep[0].problem_index, sweep[1].problem_index);
  }
  const std::map<Pairing, int> expected = {
      {Pairing::kMatch, 6}, {Pairing::kSame, 2}, {Pairing::kSlowed, 2}};
  EXPECT_EQ(counts, expected);
}

// Each pairing comes at each place, whichever came before it, as often as any other, and so does
// each problem within a sweep.
TEST(PlanSweeps, FollowNoOrder) {
  std::map<std::pair<std::size_t, Pairing>, int> at_place;
  std::map<std::pair<Pairing, Pairing>, int> neighbours;
  std::map<int, int> first_problem;
  for (int i = 0; i < kPlanCount; ++i) {
    Random random(7, static_cast<std::uint64_t>(i));
    const std::vector<Sweep> sweeps = plan_sweeps(4, 1, 1, random);
    ASSERT_EQ(sweeps.size(), 3u);
    for (std::size_t place = 0; place < sweeps.size(); ++place) {
      ++at_place[{place, sweeps[place].front().pairing}];
    }
    ++neighbours[{sweeps[0].front().pairing, sweeps[1].front().pairing}];
    ++first_problem[sweeps[1].front().problem_index];
  }
  EXPECT_EQ(at_place.size(), 9u);
  for (const auto& [place, count] : at_place) expect_one_in(3, count);
  EXPECT_EQ(neighbours.size(), 6u);
  for (const auto& [pair, count] : neighbours) expect_one_in(6, count);
  EXPECT_EQ(first_problem.size(), 4u);
  for (const auto& [problem, count] : first_problem) expect_one_in(4, count);
}

TEST(PlanSweeps, TossWhoBegins) {
  std::map<std::pair<std::size_t, std::size_t>, int> champion_begins;
  for (int i = 0; i < kPlanCount; ++i) {
    Random random(7, static_cast<std::uint64_t>(i));
    const std::vector<Sweep> sweeps = plan_sweeps(2, 1, 1, random);
    for (std::size_t place = 0; place < sweeps.size(); ++place) {
      for (std::size_t j = 0; j < 2; ++j) {
        champion_begins[{place, j}] += sweeps[place][j].first_arm_a ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(champion_begins.size(), 6u);
  for (const auto& [place, count] : champion_begins) expect_one_in(2, count);
}

// Two repeats are eight blocks of 0.02 s: six of the match, one of each control.
PilotQuestion question(double spread) {
  return {.spread = spread,
          .block_seconds = 0.02,
          .overhead_seconds = 0.5,
          .heat_seconds_max = 10,
          .blocks_per_problem = 3,
          .repeats_max = 100};
}

TEST(RepeatsFor, TimesLongerWhereCallsSpread) {
  EXPECT_EQ(repeats_for(question(0.005)), 6);
  EXPECT_EQ(repeats_for(question(0.02)), 12);
  EXPECT_EQ(repeats_for(question(0.2)), 24);
}

TEST(RepeatsFor, StaysWithinTheTimeAndItsLimit) {
  PilotQuestion asked = question(0.2);
  asked.heat_seconds_max = 1.25;
  EXPECT_EQ(repeats_for(asked), 9);
  asked.heat_seconds_max = 0.1;  // not even one fits
  EXPECT_EQ(repeats_for(asked), 1);
  asked = question(0.2);
  asked.repeats_max = 4;
  EXPECT_EQ(repeats_for(asked), 4);
  asked.block_seconds = 0;
  EXPECT_EQ(repeats_for(asked), 1);
}

TEST(PlanPacking, FollowsNoOrder) {
  std::map<std::array<Role, 3>, int> orders;
  for (int i = 0; i < kPlanCount; ++i) {
    Random random(7, static_cast<std::uint64_t>(i));
    ++orders[plan_packing(random)];
  }
  EXPECT_EQ(orders.size(), 6u);
  for (const auto& [order, count] : orders) expect_one_in(6, count);
}

}  // namespace
}  // namespace thresher::referee
