// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/simulated_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "measure/statistics.hpp"
#include "referee/statistics/heat_values.hpp"

namespace thresher::referee {
namespace {

constexpr SimulatedWorld kPerfect{.noise_sd = 0, .outlier_share = 0};

std::vector<double> log_calls(const SimulatedWorld& world, int count) {
  SimulatedMachine machine(world, 11);
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(std::log(machine.call_ns(0)));
  return values;
}

MatchSamples play(const SimulatedWorld& world, const SimulatedTruth& truth, int heat_count,
                  std::uint64_t seed = 5) {
  SimulatedMatch match(world, truth, seed);
  for (int i = 0; i < heat_count; ++i) match.play_heat();
  return match.samples();
}

TEST(SimulatedMachine, HasTheNoiseItSays) {
  const HeatMean calls = mean_of_heats(log_calls({.noise_sd = 0.03, .outlier_share = 0}, 20000));
  EXPECT_NEAR(calls.mean, 0, 4 * 0.03 / std::sqrt(20000));
  EXPECT_NEAR(calls.sd, 0.03, 4 * 0.03 / std::sqrt(40000));
}

TEST(SimulatedMachine, HasTheOutliersItSays) {
  std::vector<double> losses = log_calls({.noise_sd = 0}, 50000);
  losses.erase(std::remove(losses.begin(), losses.end(), 0.0), losses.end());
  EXPECT_NEAR(static_cast<double>(losses.size()) / 50000, 0.02, 0.003);
  EXPECT_NEAR(measure::median(losses), 0.025, 0.003);
  EXPECT_GT(*std::min_element(losses.begin(), losses.end()), 0);
  EXPECT_GT(*std::max_element(losses.begin(), losses.end()), 0.15);  // a heavy tail
}

TEST(SimulatedMachine, DriftsAsARandomWalkUntilItSettles) {
  SimulatedWorld world = kPerfect;
  world.drift_sd = 0.002;
  std::vector<double> walk = log_calls(world, 20000);
  std::vector<double> steps;
  for (std::size_t i = 1; i < walk.size(); ++i) steps.push_back(walk[i] - walk[i - 1]);
  EXPECT_NEAR(mean_of_heats(steps).sd, 0.002, 0.00005);
  EXPECT_GT(mean_of_heats(walk).sd, 0.02);  // it wanders off

  SimulatedMachine machine(world, 11);
  for (int i = 0; i < 1000; ++i) machine.call_ns(0);
  machine.settle();
  EXPECT_LT(std::abs(std::log(machine.call_ns(0))), 0.01);
}

TEST(SimulatedMachine, SlowsEverySecondCall) {
  SimulatedWorld world = kPerfect;
  world.second_slot_effect = 0.005;
  const std::vector<double> calls = log_calls(world, 4);
  EXPECT_NEAR(calls[0], 0, 1e-12);
  EXPECT_NEAR(calls[1], 0.005, 1e-12);
  EXPECT_NEAR(calls[2], 0, 1e-12);
  EXPECT_NEAR(calls[3], 0.005, 1e-12);
}

// Half of the time, 20 calls in the mean, and all of them lose the same while it stays.
TEST(SimulatedMachine, HasAGuestWhoComesAndGoes) {
  SimulatedWorld world = kPerfect;
  world.guest = {.time_share = 0.5, .stay_calls = 20, .loss_min = 0.1, .loss_max = 0.2};
  const std::vector<double> calls = log_calls(world, 40000);
  int here = 0;
  int visits = 0;
  for (std::size_t i = 1; i < calls.size(); ++i) {
    if (calls[i] == 0) continue;
    ++here;
    visits += calls[i - 1] == 0 ? 1 : 0;
    EXPECT_TRUE(calls[i - 1] == 0 || calls[i] == calls[i - 1]);
    EXPECT_TRUE(calls[i] >= 0.1 && calls[i] <= 0.2);
  }
  EXPECT_NEAR(here / 40000.0, 0.5, 0.05);
  EXPECT_NEAR(here / static_cast<double>(visits), 20, 2);
}

// A guest who is always there takes 50 % from the champion, give or take a fifth of it.
TEST(SimulatedMatch, HitsArmsUnequally) {
  SimulatedWorld world = kPerfect;
  world.guest = {.time_share = 1, .stay_calls = 1e9, .loss_min = 0.5, .loss_max = 0.5};
  const auto lost = [](double ns) { return std::log(ns / 100e3); };
  const auto expect_unequal = [&](bool by_code) {
    const MatchSamples samples = play(world, {.blocks_per_problem = 2}, 30);
    const double first = lost(samples.heats[0].match[0].b_ns[0]);
    EXPECT_NE(lost(samples.heats[0].match[0].a_ns[0]), first);
    for (const HeatSamples& heat : samples.heats) {
      EXPECT_NEAR(lost(heat.match[0].b_ns[0]), 0.5, 0.1);
      EXPECT_EQ(heat.match[0].b_ns[0], heat.match[1].b_ns[1]) << "within a heat";
      EXPECT_EQ(lost(heat.match[0].b_ns[0]) == first, by_code || &heat == &samples.heats[0]);
      EXPECT_EQ(block_log_ratio(heat.same[0]) == 0, by_code) << "the copy is the same code";
    }
  };
  world.guest.unequal_by_code = 0.2;
  expect_unequal(true);
  world.guest.unequal_by_code = 0;
  world.guest.unequal_by_process = 0.2;
  expect_unequal(false);
}

TEST(SimulatedMatch, MayHaveAnUnsteadyChallenger) {
  const MatchSamples samples = play(kPerfect, {.challenger_heat_sd = 0.3}, 400);
  const HeatValues values = heat_values(samples);
  EXPECT_NEAR(mean_of_heats(values.problems[0].challenger_log_ns).sd, 0.3, 0.04);
  EXPECT_NEAR(mean_of_heats(values.problems[0].champion_log_ns).sd, 0, 1e-9);
}

// A guest who takes half of the machine is seen by the reference, and its blocks are marked.
TEST(SimulatedMatch, MarksBlocksThatAGuestDisturbed) {
  SimulatedWorld world = kPerfect;
  world.guest = {.time_share = 0.2, .stay_calls = 40, .loss_min = 0.7, .loss_max = 0.7};
  int marked = 0;
  int count = 0;
  for (const HeatSamples& heat : play(world, {.blocks_per_problem = 20}, 20).heats) {
    for (const Block& block : heat.match) {
      ++count;
      marked += block.disturbed ? 1 : 0;
    }
  }
  EXPECT_GT(marked, count / 20);
  EXPECT_LT(marked, count / 2);
}

TEST(PlayBlock, StartsWithEitherArmAndBalancesTheSlots) {
  SimulatedWorld world = kPerfect;
  world.second_slot_effect = 0.005;
  SimulatedMachine machine(world, 3);
  int a_first = 0;
  for (int i = 0; i < 400; ++i) {
    const Block block = play_block(machine, 0, 1.1, 1.0);
    a_first += block.first_arm_a;
    EXPECT_NEAR(block_log_ratio(block), 0.1, 1e-12);
    EXPECT_NEAR(std::log(block.first_arm_a ? block.a_ns[0] : block.b_ns[0]),
                block.first_arm_a ? 1.1 : 1.0, 1e-12);
  }
  EXPECT_NEAR(a_first, 200, 40);
}

TEST(SimulatedMatch, ContainsItsTruth) {
  const MatchSamples samples =
      play(kPerfect, {.speedups = {1.02, 0.96}, .slowed_speedup = 0.8, .blocks_per_problem = 3}, 2);
  EXPECT_EQ(samples.problems.size(), 2u);
  EXPECT_EQ(samples.slowed_truth, 0.8);
  ASSERT_EQ(samples.heats.size(), 2u);
  for (const HeatSamples& heat : samples.heats) {
    ASSERT_EQ(heat.match.size(), 6u);
    for (const Block& block : heat.match) {
      const double truth = block.problem_index == 0 ? 1.02 : 0.96;
      EXPECT_NEAR(block_log_ratio(block), std::log(truth), 1e-12);
    }
    for (const Block& block : heat.same) EXPECT_NEAR(block_log_ratio(block), 0, 1e-12);
    for (const Block& block : heat.slowed) {
      EXPECT_NEAR(block_log_ratio(block), std::log(0.8), 1e-12);
    }
  }
}

TEST(SimulatedMatch, DrawsLuckPerProcessAndProblem) {
  SimulatedWorld world = kPerfect;
  world.process_offset_sd = 0.005;
  const MatchSamples samples = play(world, {.speedups = {1, 1}}, 300);
  for (const HeatSamples& heat : samples.heats) {
    const double first = block_log_ratio(heat.match[0]);
    EXPECT_NEAR(block_log_ratio(heat.match[2]), first, 1e-12);  // the same processes
    EXPECT_NE(block_log_ratio(heat.match[1]), first);           // another problem
    EXPECT_EQ(heat.match[0].a_ns[0], heat.same[0].a_ns[0]);     // one champion per heat
    EXPECT_NE(block_log_ratio(heat.same[0]), 0);                // its copy has luck of its own
    EXPECT_NEAR(block_log_ratio(heat.slowed[0]), block_log_ratio(heat.same[0]) + std::log(0.9),
                1e-12);  // and is the one that is slowed
  }
  const HeatMean luck = mean_of_heats(heat_values(samples).problems[0].log_ratio);
  EXPECT_NEAR(luck.sd, 0.005 * std::sqrt(2), 4 * 0.005 / std::sqrt(300));
}

TEST(SimulatedMatch, IsTheSeedsAlone) {
  const auto first_ns = [](std::uint64_t seed) {
    return play({}, {}, 1, seed).heats[0].match[0].a_ns[0];
  };
  EXPECT_EQ(first_ns(1), first_ns(1));
  EXPECT_NE(first_ns(1), first_ns(2));
}

}  // namespace
}  // namespace thresher::referee
