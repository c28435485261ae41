// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/heat_values.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "referee/hand_made_samples.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

std::string error_of(const MatchSamples& samples) {
  try {
    heat_values(samples);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

MatchSamples one_heat(std::vector<Block> blocks, int problem_count) {
  MatchSamples samples;
  samples.problems.resize(static_cast<std::size_t>(problem_count), "p");
  samples.heats.push_back({.match = std::move(blocks)});
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

// Pairs of 1, 2 and 9: 1, 1.5, 5, 2, 5.5, 9.
TEST(MiddleOfPairs, IsTheMedianOfAllMeans) {
  EXPECT_DOUBLE_EQ(middle_of_pairs(std::vector{9.0, 1.0, 2.0}), 3.5);
  EXPECT_DOUBLE_EQ(middle_of_pairs(std::vector{4.0}), 4);
}

// Distances of 1, 2 and 9: 1, 7, 8. A normal value's sd is 1.0483 times the median one.
TEST(MiddleOfPairs, IsUncertainByWhatPairsAreApart) {
  EXPECT_NEAR(middle_of_pairs_error(std::vector{9.0, 1.0, 2.0}),
              1.0483 * 7 * std::sqrt(std::numbers::pi / 3 / 3), 1e-12);
  EXPECT_EQ(middle_of_pairs_error(std::vector{4.0}), 0);
}

TEST(HeatValues, SayWhatTheirBlocksAreUncertainBy) {
  MatchSamples samples = one_heat({block_of(0, 0.1), block_of(0, 0.3)}, 1);
  samples.heats.push_back({.match = {block_of(0, 0.2), block_of(0, 0.2)}});
  const double first = middle_of_pairs_error(std::vector{0.1, 0.3});
  EXPECT_NEAR(heat_values(samples).problems[0].log_ratio_sd_min, first / std::sqrt(2), 1e-12);
}

TEST(HeatValues, AreMeansOfFewBlocksAndRobustForMany) {
  std::vector<Block> blocks;
  for (const double log_ratio : {0.01, 0.02, 0.03, 0.9}) blocks.push_back(block_of(0, log_ratio));
  EXPECT_NEAR(heat_values(one_heat(blocks, 1)).problems[0].log_ratio[0], 0.24, 1e-12);
  blocks.push_back(block_of(0, 0.02));
  // Of the 15 means the middle one is that of 0.02 and 0.03.
  EXPECT_NEAR(heat_values(one_heat(blocks, 1)).problems[0].log_ratio[0], 0.025, 1e-12);
}

TEST(HeatValues, LeaveOutDisturbedBlocksWhereThereAreOthers) {
  std::vector<Block> blocks = {block_of(0, 0.01), block_of(0, 0.5), block_of(0, 0.03),
                               block_of(1, 0.2), block_of(1, 0.4)};
  for (const std::size_t index : {1, 3, 4}) blocks[index].disturbed = true;
  const HeatValues values = heat_values(one_heat(blocks, 2));
  EXPECT_NEAR(values.problems[0].log_ratio[0], 0.02, 1e-12);
  EXPECT_NEAR(values.problems[1].log_ratio[0], 0.3, 1e-12);  // it has no others
  EXPECT_EQ(values.block_count, 5);
  EXPECT_EQ(values.left_out_count, 1);
}

TEST(HeatValues, AverageProblemsWithinTheHeat) {
  const HeatValues values = heat_values(samples_of({{0.01, 0.03}, {0.02, -0.04}}));
  EXPECT_EQ(values.heat_count, 2);
  EXPECT_NEAR(values.geomean_log_ratio[0], 0.02, 1e-12);
  EXPECT_NEAR(values.geomean_log_ratio[1], -0.01, 1e-12);
  EXPECT_NEAR(values.problems[1].log_ratio[1], -0.04, 1e-12);
}

TEST(HeatValues, KeepTheMedianTimeOfBothArms) {
  const HeatValues values =
      heat_values(one_heat({{0, true, {100, 900}, {10, 20}}, {0, false, {200, 300}, {30, 40}}}, 1));
  EXPECT_DOUBLE_EQ(values.problems[0].champion_log_ns[0], std::log(250));
  EXPECT_DOUBLE_EQ(values.problems[0].challenger_log_ns[0], std::log(25));
}

TEST(HeatValues, LeaveOutHeatsThatLostAProblem) {
  MatchSamples samples = samples_of({{0.01, 0.03}, {0.5, 0.5}, {0.02, 0.04}});
  samples.heats[1].match.pop_back();
  const HeatValues values = heat_values(samples);
  EXPECT_EQ(values.heat_count, 2);
  EXPECT_NEAR(values.geomean_log_ratio[1], 0.03, 1e-12);
}

TEST(HeatValues, RefuseImpossibleSamples) {
  EXPECT_EQ(error_of(one_heat({{0, true, {100, 0}, {1, 1}}}, 1)),
            "heat 0, problem 0: a time of 0 ns");
  EXPECT_EQ(error_of(one_heat({{0, true, {100, 1}, {-5, 1}}}, 1)),
            "heat 0, problem 0: a time of -5 ns");
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(error_of(one_heat({{0, true, {100, 1}, {1, infinity}}}, 1)),
            "heat 0, problem 0: a time of inf ns");
  EXPECT_EQ(error_of(one_heat({block_of(2, 0)}, 2)),
            "heat 0: a block of problem 2 where there are 2 problems");
}

TEST(ControlValues, AverageWhateverProblemsTheControlVisited) {
  MatchSamples samples = samples_of({{0, 0}, {0, 0}, {0, 0}});
  samples.heats[0].same = {block_of(0, 0.01), block_of(0, 0.03), block_of(1, 0.04)};
  samples.heats[1].same = {block_of(1, 0.05)};
  samples.heats[2].same.clear();
  const std::vector<double> values = control_values(samples, &HeatSamples::same);
  ASSERT_EQ(values.size(), 2u);
  EXPECT_NEAR(values[0], 0.03, 1e-12);
  EXPECT_NEAR(values[1], 0.05, 1e-12);
}

// sd = 0.01 sqrt(2.5), standard error = 0.01 sqrt(0.5), t(4) of 95 % = 2.131847.
TEST(HeatMean, BoundsAreStudents) {
  const HeatMean mean = mean_of_heats(std::vector{0.01, 0.02, 0.03, 0.04, 0.05});
  EXPECT_EQ(mean.count, 5);
  EXPECT_NEAR(mean.mean, 0.03, 1e-15);
  EXPECT_NEAR(mean.sd, 0.0158113883, 1e-10);
  EXPECT_NEAR(mean.standard_error(), 0.0070710678, 1e-10);
  EXPECT_NEAR(mean.lower(0.95), 0.03 - 2.131846786 * 0.0070710678, 1e-9);
  EXPECT_NEAR(mean.upper(0.95), 0.03 + 2.131846786 * 0.0070710678, 1e-9);
}

TEST(HeatMean, ASingleHeatSaysNothingAboutItsError) {
  const HeatMean mean = mean_of_heats(std::vector{0.25});
  EXPECT_EQ(mean.mean, 0.25);
  EXPECT_EQ(mean.lower(0.95), -INFINITY);
  EXPECT_EQ(mean.upper(0.95), INFINITY);
}

ConfidenceByHeats always(double confidence) {
  return {.confidence = [confidence](int) { return confidence; }};
}

// t(3) / sqrt(4) = 1.18 and t(4) / sqrt(5) = 0.95 at 95 %.
TEST(HeatsNeeded, IsTheFirstNumberThatSuffices) {
  EXPECT_EQ(heats_needed({.count = 2, .sd = 0.01}, 0.01, always(0.95)), 5);
  EXPECT_EQ(heats_needed({.count = 2, .sd = 0.01}, 0.012, always(0.95)), 4);
  EXPECT_EQ(heats_needed({.count = 7, .sd = 0.01}, 0.01, always(0.95)), 8);  // at least one more
  for (const double distance : {0.0008, 0.001, 0.003, 0.02, 0.5}) {
    const int needed = heats_needed({.count = 2, .sd = 0.01}, distance, always(0.99));
    const auto margin = [](int count) { return HeatMean{.count = count, .sd = 0.01}.margin(0.99); };
    EXPECT_LT(margin(needed), distance);
    EXPECT_TRUE(needed == 3 || margin(needed - 1) >= distance) << needed;
  }
}

// Beyond ten heats bounds are surer, and so further away: what nine do not do takes many more.
TEST(HeatsNeeded, KnowsThatLaterLooksMustBeSurer) {
  const ConfidenceByHeats steps{.confidence = [](int n) { return n <= 10 ? 0.95 : 0.999; },
                                .planned_max = 10};
  const HeatMean mean{.count = 4, .sd = 0.01};
  EXPECT_EQ(heats_needed(mean, 0.0059, steps), heats_needed(mean, 0.0059, always(0.95)));
  const int beyond = heats_needed(mean, 0.0055, steps);
  EXPECT_EQ(beyond, heats_needed({.count = 10, .sd = 0.01}, 0.0055, always(0.999)));
  EXPECT_GT(beyond, 30);
}

TEST(HeatsNeeded, EndsWhereNoNumberSuffices) {
  EXPECT_EQ(heats_needed({.count = 5, .sd = 0.01}, 0, always(0.95)), kHeatsNeededMax);
  EXPECT_EQ(heats_needed({.count = 5, .sd = 0}, 0, always(0.95)), kHeatsNeededMax);
  EXPECT_EQ(heats_needed({.count = 1, .sd = INFINITY}, 0.01, always(0.95)), kHeatsNeededMax);
}

}  // namespace
}  // namespace thresher::referee
