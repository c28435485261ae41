// SPDX-License-Identifier: Apache-2.0
// The plans of a heat. That a heat is played as planned shows in match_test.cpp.
#include "referee/timing/heats.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <set>
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
  for (const int count : {1, 2, 5, 6}) {
    Random random(1);
    int slowed = 0;
    const std::vector<Sweep> sweeps = plan_sweeps(2, count, random);
    ASSERT_EQ(sweeps.size(), static_cast<std::size_t>(count));
    for (const Sweep& sweep : sweeps) {
      slowed += sweep.copy_is_slowed ? 1 : 0;
      ASSERT_EQ(sweep.blocks.size(), 2u);
      EXPECT_NE(sweep.blocks[0].problem_index, sweep.blocks[1].problem_index);
    }
    EXPECT_GE(slowed, count / 2);
    EXPECT_LE(slowed, (count + 1) / 2);
  }
}

// Each control comes at each place, whichever came before it, as often as the other, and so does
// each problem within a sweep; of an odd number of sweeps either has the one more.
TEST(PlanSweeps, FollowNoOrder) {
  std::map<std::size_t, int> slowed_at;
  std::map<int, int> first_problem;
  for (int i = 0; i < kPlanCount; ++i) {
    Random random(7, static_cast<std::uint64_t>(i));
    const std::vector<Sweep> sweeps = plan_sweeps(4, 3, random);
    for (std::size_t place = 0; place < sweeps.size(); ++place) {
      slowed_at[place] += sweeps[place].copy_is_slowed ? 1 : 0;
    }
    ++first_problem[sweeps[1].blocks.front().problem_index];
  }
  EXPECT_EQ(slowed_at.size(), 3u);
  for (const auto& [place, count] : slowed_at) expect_one_in(2, count);
  EXPECT_EQ(first_problem.size(), 4u);
  for (const auto& [problem, count] : first_problem) expect_one_in(4, count);
}

// All arms in every block, in every order; in three sweeps each once in the middle.
TEST(PlanSweeps, GiveEveryArmTheSamePlaces) {
  std::map<std::pair<std::size_t, std::array<Role, 3>>, int> orders;
  for (int i = 0; i < kPlanCount; ++i) {
    Random random(7, static_cast<std::uint64_t>(i));
    std::map<int, std::set<Role>> middles;
    const std::vector<Sweep> sweeps = plan_sweeps(2, 3, random);
    for (std::size_t place = 0; place < sweeps.size(); ++place) {
      for (const PlannedBlock& block : sweeps[place].blocks) {
        middles[block.problem_index].insert(block.order[1]);
        if (block.problem_index == 0) ++orders[{place, block.order}];
      }
    }
    for (const auto& [problem, roles] : middles) EXPECT_EQ(roles.size(), 3u) << problem;
  }
  EXPECT_EQ(orders.size(), 18u);
  for (const auto& [order, count] : orders) expect_one_in(6, count);
}

// Three blocks of 0.02 s are 0.06 s.
PilotQuestion question(double spread) {
  return {.spread = spread,
          .block_seconds = 0.02,
          .overhead_seconds = 0.6,
          .heat_seconds_max = 10,
          .blocks_per_problem = 3,
          .repeats_max = 100};
}

TEST(RepeatsFor, TimesLongerWhereCallsSpread) {
  EXPECT_EQ(repeats_for(question(0.005)), 10);
  EXPECT_EQ(repeats_for(question(0.02)), 20);
  EXPECT_EQ(repeats_for(question(0.2)), 40);
}

// Else its last heat is over while nothing is decided and time is left.
TEST(RepeatsFor, FillsTheTimeOfTheMatchUnlessQuiet) {
  for (const double spread : {0.02, 0.2}) {
    PilotQuestion asked = question(spread);
    asked.heat_seconds = 6;
    EXPECT_EQ(repeats_for(asked), 90);
    asked.heat_seconds_max = 3;
    EXPECT_EQ(repeats_for(asked), 40);
  }
  PilotQuestion quiet = question(0.005);
  quiet.heat_seconds = 6;
  EXPECT_EQ(repeats_for(quiet), 10);
}

TEST(RepeatsFor, StaysWithinTheTimeAndItsLimit) {
  PilotQuestion asked = question(0.2);
  asked.heat_seconds_max = 1.25;
  EXPECT_EQ(repeats_for(asked), 10);
  asked.heat_seconds_max = 0.1;  // not even one fits
  EXPECT_EQ(repeats_for(asked), 1);
  asked = question(0.2);
  asked.repeats_max = 4;
  EXPECT_EQ(repeats_for(asked), 4);
  asked.block_seconds = 0;
  EXPECT_EQ(repeats_for(asked), 1);
}

TEST(Arms, FollowNoOrder) {
  std::map<std::array<Role, 3>, int> orders;
  for (int i = 0; i < kPlanCount; ++i) {
    Random random(7, static_cast<std::uint64_t>(i));
    ++orders[in_random_order(random)];
  }
  EXPECT_EQ(orders.size(), 6u);
  for (const auto& [order, count] : orders) expect_one_in(6, count);
}

}  // namespace
}  // namespace thresher::referee
