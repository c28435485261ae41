// SPDX-License-Identifier: Apache-2.0
// Expected values are worked out by hand, or by another road than the code's.
#include "tank/panel/credibility.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "referee/statistics/distributions.hpp"

namespace thresher {
namespace {

TEST(NormalForecast, TakesItsWidthFromTheEightyPercentInterval) {
  const NormalForecast normal =
      normal_forecast({.log_speedup_median = 0.2, .log_speedup_low = 0.1, .log_speedup_high = 0.5});
  EXPECT_DOUBLE_EQ(normal.mean, 0.2);
  EXPECT_NEAR(normal.mean + normal.sd * 1.2815515655446, 0.4, 1e-12);  // half of 0.4 either side
}

TEST(Crps, OfAPointForecastIsTheDistance) {
  EXPECT_DOUBLE_EQ(crps({.mean = 0.3, .sd = 0}, 0.1, 0), 0.2);
}

TEST(Crps, AtTheCentreIsTheKnownConstant) {
  // s (sqrt(2) - 1) / sqrt(pi) = 0.233695 s.
  EXPECT_NEAR(crps({.mean = 1, .sd = 2}, 1, 0), 2 * 0.23369497725510915, 1e-12);
}

// The form of the literature: s [z (2 F(z) - 1) + 2 f(z) - 1 / sqrt(pi)].
TEST(Crps, AgreesWithTheClosedFormForAPoint) {
  for (const double y : {-1.5, -0.2, 0.0, 0.7, 3.0}) {
    const double mean = 0.25;
    const double sd = 0.6;
    const double z = (y - mean) / sd;
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    const double expected =
        sd * (z * (2 * referee::normal_cdf(z) - 1) + 2 * density - 1 / std::sqrt(std::numbers::pi));
    EXPECT_NEAR(crps({mean, sd}, y, 0), expected, 1e-12) << y;
  }
}

// Against a noisy measurement: the mean of the point score over the noise, here by summing.
TEST(Crps, AgainstAPosteriorIsTheMeanOverIt) {
  const NormalForecast forecast{.mean = 0.1, .sd = 0.2};
  const double y = 0.3;
  const double y_sd = 0.15;
  double sum = 0;
  double weight_sum = 0;
  for (double z = -8; z <= 8; z += 1e-3) {
    const double weight = std::exp(-z * z / 2);
    sum += weight * crps(forecast, y + z * y_sd, 0);
    weight_sum += weight;
  }
  EXPECT_NEAR(crps(forecast, y, y_sd), sum / weight_sum, 1e-9);
}

TEST(Crps, IsProper) {
  const double honest = crps({0.2, 0.1}, 0.2, 0.1);
  EXPECT_LT(honest, crps({0.3, 0.1}, 0.2, 0.1));
  EXPECT_LT(honest, crps({0.2, 0.3}, 0.2, 0.1));
  EXPECT_LT(honest, crps({0.2, 0.01}, 0.2, 0.1));
}

TEST(Crps, OverAndUnderCostTheSame) {
  EXPECT_NEAR(crps({std::log(2), 0.1}, 0, 0), crps({-std::log(2), 0.1}, 0, 0), 1e-12);
}

TEST(Brier, IsTheSquaredMiss) {
  EXPECT_NEAR(brier(0.8, true), 0.04, 1e-15);
  EXPECT_NEAR(brier(0.8, false), 0.64, 1e-15);
}

TEST(ScoreForecast, AFailedBuildScoresThroughPWorksOnly) {
  const ForecastScore score = score_forecast({.p_works = 0.9}, {.works = false});
  EXPECT_FALSE(score.crps);
  EXPECT_NEAR(score.loss(), 0.81, 1e-15);
}

TEST(ScoreForecast, UnclearScoresThroughTheSizeOnly) {
  const ForecastScore score = score_forecast({.p_works = 0.9,
                                              .log_speedup_median = std::log(1.5),
                                              .log_speedup_low = std::log(1.5),
                                              .log_speedup_high = std::log(1.5)},
                                             {.log_speedup = 0.0});
  EXPECT_FALSE(score.brier);
  EXPECT_NEAR(score.loss(), std::log(1.5) / std::log(2), 1e-12);
}

TEST(ScoreForecast, AFactorOfTwoIsTheWorst) {
  const Forecast claim{.p_works = 1,
                       .log_speedup_median = std::log(4),
                       .log_speedup_low = 1.3,
                       .log_speedup_high = 1.5};
  EXPECT_DOUBLE_EQ(score_forecast(claim, {.works = false, .log_speedup = 0.0}).loss(), 1);
  EXPECT_FALSE(score_forecast(claim, {}).is_resolved());
}

TEST(Credibilities, NewcomersEnterWithTheMean) {
  const Credibilities equal = credibilities_for({"a", "b", "c", "d"}, {});
  EXPECT_DOUBLE_EQ(equal.at("a"), 0.25);
  const Credibilities joined =
      credibilities_for({"a", "b", "new"}, {{"a", 0.6}, {"b", 0.2}, {"gone", 0.2}});
  EXPECT_DOUBLE_EQ(joined.at("a"), 0.5);
  EXPECT_DOUBLE_EQ(joined.at("b"), 0.2 / 1.2);
  EXPECT_DOUBLE_EQ(joined.at("new"), 0.4 / 1.2);
}

TEST(LearningRate, ComesFromTheHorizon) {
  EXPECT_NEAR(learning_rate(4, 50), std::sqrt(8 * 1.3862943611198906 / 50), 1e-15);
  EXPECT_EQ(learning_rate(1, 50), 0);
}

TEST(Updated, MovesWeightToTheBetterForecaster) {
  // exp(-1 * 1) against exp(0): 0.268941 and 0.731059, then 5 % shared by two.
  const Credibilities moved = updated({{"a", 0.5}, {"b", 0.5}}, {{"a", 1.0}, {"b", 0.0}}, 1);
  EXPECT_NEAR(moved.at("a"), 0.95 * 0.2689414213699951 + 0.025, 1e-12);
  EXPECT_NEAR(moved.at("b"), 0.95 * 0.7310585786300049 + 0.025, 1e-12);
}

TEST(Updated, BarelyMovesOnOnePitchAndKillsNobodyInAThousand) {
  const double eta = learning_rate(2);
  Credibilities weights{{"a", 0.5}, {"b", 0.5}};
  weights = updated(weights, {{"a", 0.30}, {"b", 0.10}}, eta);
  EXPECT_GT(weights.at("a"), 0.48);
  for (int i = 0; i < 1000; ++i) weights = updated(weights, {{"a", 1.0}, {"b", 0.0}}, eta);
  EXPECT_GE(weights.at("a"), kFixedShare / 2);
  EXPECT_NEAR(weights.at("a") + weights.at("b"), 1, 1e-12);
}

TEST(Updated, WithoutAResolvedForecastNothingMoves) {
  const Credibilities weights{{"a", 0.7}, {"b", 0.3}};
  EXPECT_EQ(updated(weights, {}, 1), weights);
}

TEST(Updated, AbsenceIsNeitherRewardedNorPunished) {
  const Credibilities moved =
      updated({{"a", 0.4}, {"b", 0.4}, {"away", 0.2}}, {{"a", 0.2}, {"b", 0.4}}, 1);
  EXPECT_GT(moved.at("a"), moved.at("b"));
  EXPECT_NEAR(moved.at("away"), 0.95 * 0.2 + 0.05 / 3, 2e-3);
}

TEST(EffectiveJudges, CountsEqualOpinionsOnce) {
  const std::vector<double> errors{0.1, -0.2, 0.4, 0.0};
  const auto same = effective_judges({{"a", errors}, {"b", errors}, {"c", errors}});
  ASSERT_TRUE(same);
  EXPECT_NEAR(same->value, 1, 1e-12);
  EXPECT_EQ(same->pitch_count, 4u);
}

TEST(EffectiveJudges, CountsIndependentOnesEach) {
  // Orthogonal after removing the mean: correlation 0.
  const auto two = effective_judges({{"a", {1, -1, 1, -1}}, {"b", {1, 1, -1, -1}}});
  ASSERT_TRUE(two);
  EXPECT_NEAR(two->value, 2, 1e-12);
  // Correlation 1/2: 2 / 1.5.
  const auto half = effective_judges({{"a", {1, -1, 0}}, {"b", {1, 0, -1}}});
  ASSERT_TRUE(half);
  EXPECT_NEAR(half->value, 2 / 1.5, 1e-12);
}

TEST(EffectiveJudges, NeverMoreThanThereAre) {
  EXPECT_DOUBLE_EQ(effective_judges({{"a", {1, -1, 0}}, {"b", {-1, 1, 0}}})->value, 2);
}

TEST(EffectiveJudges, SaysNothingFromTooLittle) {
  EXPECT_FALSE(effective_judges({{"a", {1, 2}}, {"b", {2, 1}}}));
  EXPECT_FALSE(effective_judges({{"a", {1, 2, 3}}}));
  EXPECT_FALSE(effective_judges({}));
}

}  // namespace
}  // namespace thresher
