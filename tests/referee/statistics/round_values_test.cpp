// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/round_values.hpp"

#include <gtest/gtest.h>

#include <limits>

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

}  // namespace
}  // namespace thresher::referee
