// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/round_values.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "referee/hand_made_samples.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

std::string error_of(const MatchSamples& samples) {
  try {
    round_values(samples);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

MatchSamples one_round(std::vector<Block> blocks, int problem_count) {
  MatchSamples samples;
  samples.problems.resize(static_cast<std::size_t>(problem_count), "p");
  samples.rounds.push_back({.match = std::move(blocks)});
  return samples;
}

TEST(BlockLogRatio, IsHalfTheDifferenceOfTheArms) {
  EXPECT_NEAR(block_log_ratio({0, true, {100, 121}, {110, 100}}), std::log(1.1) / 2, 1e-14);
}

TEST(BlockLogRatio, IsPositiveWhenTheChallengerIsFaster) {
  EXPECT_GT(block_log_ratio({0, true, {100, 100}, {80, 80}}), 0);
}

TEST(BlockLogRatio, CancelsLinearDriftInBothOrders) {
  const auto call = [](double ln_ns, int slot) { return std::exp(ln_ns + 0.01 * slot); };
  const Block abba{0, true, {call(5, 0), call(5, 3)}, {call(4.9, 1), call(4.9, 2)}};
  const Block baab{0, false, {call(5, 1), call(5, 2)}, {call(4.9, 0), call(4.9, 3)}};
  EXPECT_NEAR(block_log_ratio(abba), 0.1, 1e-14);
  EXPECT_NEAR(block_log_ratio(baab), 0.1, 1e-14);
}

TEST(RoundValues, AreMeansOfFewBlocksAndMediansOfMany) {
  std::vector<Block> blocks;
  for (const double log_ratio : {0.01, 0.02, 0.03, 0.9}) blocks.push_back(block_of(0, log_ratio));
  EXPECT_NEAR(round_values(one_round(blocks, 1)).problems[0].log_ratio[0], 0.24, 1e-12);
  blocks.push_back(block_of(0, 0.02));
  EXPECT_NEAR(round_values(one_round(blocks, 1)).problems[0].log_ratio[0], 0.02, 1e-12);
}

TEST(RoundValues, AverageProblemsWithinTheRound) {
  const RoundValues values = round_values(samples_of({{0.01, 0.03}, {0.02, -0.04}}));
  EXPECT_EQ(values.round_count, 2);
  EXPECT_NEAR(values.geomean_log_ratio[0], 0.02, 1e-12);
  EXPECT_NEAR(values.geomean_log_ratio[1], -0.01, 1e-12);
  EXPECT_NEAR(values.problems[1].log_ratio[1], -0.04, 1e-12);
}

TEST(RoundValues, KeepTheMedianTimeOfBothArms) {
  const RoundValues values = round_values(
      one_round({{0, true, {100, 900}, {10, 20}}, {0, false, {200, 300}, {30, 40}}}, 1));
  EXPECT_DOUBLE_EQ(values.problems[0].champion_log_ns[0], std::log(250));
  EXPECT_DOUBLE_EQ(values.problems[0].challenger_log_ns[0], std::log(25));
}

TEST(RoundValues, LeaveOutRoundsThatLostAProblem) {
  MatchSamples samples = samples_of({{0.01, 0.03}, {0.5, 0.5}, {0.02, 0.04}});
  samples.rounds[1].match.pop_back();
  const RoundValues values = round_values(samples);
  EXPECT_EQ(values.round_count, 2);
  EXPECT_NEAR(values.geomean_log_ratio[1], 0.03, 1e-12);
}

TEST(RoundValues, RefuseImpossibleSamples) {
  EXPECT_EQ(error_of(one_round({{0, true, {100, 0}, {1, 1}}}, 1)),
            "round 0, problem 0: a time of 0 ns");
  EXPECT_EQ(error_of(one_round({{0, true, {100, 1}, {-5, 1}}}, 1)),
            "round 0, problem 0: a time of -5 ns");
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(error_of(one_round({{0, true, {100, 1}, {1, infinity}}}, 1)),
            "round 0, problem 0: a time of inf ns");
  EXPECT_EQ(error_of(one_round({block_of(2, 0)}, 2)),
            "round 0: a block of problem 2 where there are 2 problems");
}

TEST(ControlValues, AverageWhateverProblemsTheControlVisited) {
  MatchSamples samples = samples_of({{0, 0}, {0, 0}, {0, 0}});
  samples.rounds[0].same = {block_of(0, 0.01), block_of(0, 0.03), block_of(1, 0.04)};
  samples.rounds[1].same = {block_of(1, 0.05)};
  samples.rounds[2].same.clear();
  const std::vector<double> values = control_values(samples, &RoundSamples::same);
  ASSERT_EQ(values.size(), 2u);
  EXPECT_NEAR(values[0], 0.03, 1e-12);
  EXPECT_NEAR(values[1], 0.05, 1e-12);
}

// sd = 0.01 sqrt(2.5), standard error = 0.01 sqrt(0.5), t(4) of 95 % = 2.131847.
TEST(RoundMean, BoundsAreStudents) {
  const RoundMean mean = mean_of_rounds(std::vector{0.01, 0.02, 0.03, 0.04, 0.05});
  EXPECT_EQ(mean.count, 5);
  EXPECT_NEAR(mean.mean, 0.03, 1e-15);
  EXPECT_NEAR(mean.sd, 0.0158113883, 1e-10);
  EXPECT_NEAR(mean.standard_error(), 0.0070710678, 1e-10);
  EXPECT_NEAR(mean.lower(0.95), 0.03 - 2.131846786 * 0.0070710678, 1e-9);
  EXPECT_NEAR(mean.upper(0.95), 0.03 + 2.131846786 * 0.0070710678, 1e-9);
}

TEST(RoundMean, ASingleRoundSaysNothingAboutItsError) {
  const RoundMean mean = mean_of_rounds(std::vector{0.25});
  EXPECT_EQ(mean.mean, 0.25);
  EXPECT_EQ(mean.lower(0.95), -INFINITY);
  EXPECT_EQ(mean.upper(0.95), INFINITY);
}

// t(3) / sqrt(4) = 1.18 and t(4) / sqrt(5) = 0.95 at 95 %.
TEST(RoundsNeeded, IsTheFirstNumberThatSuffices) {
  EXPECT_EQ(rounds_needed({.count = 2, .sd = 0.01}, 0.01, 0.95), 5);
  EXPECT_EQ(rounds_needed({.count = 2, .sd = 0.01}, 0.012, 0.95), 4);
  EXPECT_EQ(rounds_needed({.count = 7, .sd = 0.01}, 0.01, 0.95), 8);  // always one more at least
  for (const double distance : {0.0008, 0.001, 0.003, 0.02, 0.5}) {
    const int needed = rounds_needed({.count = 2, .sd = 0.01}, distance, 0.99);
    const auto margin = [](int count) {
      return RoundMean{.count = count, .sd = 0.01}.margin(0.99);
    };
    EXPECT_LT(margin(needed), distance);
    EXPECT_TRUE(needed == 3 || margin(needed - 1) >= distance) << needed;
  }
}

TEST(RoundsNeeded, EndsWhereNoNumberSuffices) {
  EXPECT_EQ(rounds_needed({.count = 5, .sd = 0.01}, 0, 0.95), kRoundsNeededMax);
  EXPECT_EQ(rounds_needed({.count = 5, .sd = 0}, 0, 0.95), kRoundsNeededMax);
  EXPECT_EQ(rounds_needed({.count = 1, .sd = INFINITY}, 0.01, 0.95), kRoundsNeededMax);
}

}  // namespace
}  // namespace thresher::referee
