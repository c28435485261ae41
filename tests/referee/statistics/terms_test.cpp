// SPDX-License-Identifier: Apache-2.0
// What each look may err, and the controls. How the terms themselves stand shows in verdicts:
// analysis_test.cpp.
#include "referee/statistics/terms.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "gemm/random.hpp"
#include "referee/hand_made_samples.hpp"
#include "referee/statistics/distributions.hpp"

namespace thresher::referee {
namespace {

TEST(LookError, OfASingleLookIsAllButWhatIsKeptBack) {
  EXPECT_DOUBLE_EQ(look_error(0.05, {.heats_min = 8, .heats_max = 8}, 8), 0.8 * 0.05);
}

TEST(LookError, ShrinksWithTheRangeOfLooks) {
  EXPECT_DOUBLE_EQ(look_error(0.05, {.heats_min = 5, .heats_max = 15}, 5),
                   0.8 * 0.05 / (1 + 3 * std::log(3)));
  EXPECT_DOUBLE_EQ(look_error(0.05, {.heats_min = 5, .heats_max = 15}, 15),
                   0.8 * 0.05 / (1 + 3 * std::log(3)));
}

TEST(LookError, IsSmallerForHeatsGrantedLater) {
  const AnalysisOptions options{.heats_min = 5, .heats_max = 10};
  const double beyond = 1 + std::log(2);
  EXPECT_DOUBLE_EQ(look_error(0.05, options, 20), 0.2 * 0.05 / 3 / (beyond * beyond));
  EXPECT_LT(look_error(0.05, options, 21), look_error(0.05, options, 20));
}

double normal_value(Random& random) {
  return normal_quantile((static_cast<double>(random.next() >> 11) + 0.5) * 0x1p-53);
}

// How often t-tests of pure noise after every heat find something, at this error of each look.
template <typename Error>
double error_of_all_looks(const AnalysisOptions& options, Error error_of_look, int trial_count) {
  std::vector<double> critical(static_cast<std::size_t>(options.heats_limit()) + 1);
  for (int n = options.heats_min; n <= options.heats_limit(); ++n) {
    critical[static_cast<std::size_t>(n)] = student_t_quantile(1 - error_of_look(n), n - 1);
  }
  Random random(7);
  int found = 0;
  for (int trial = 0; trial < trial_count; ++trial) {
    double sum = 0;
    double squares = 0;
    for (int n = 1; n <= options.heats_limit(); ++n) {
      const double value = normal_value(random);
      sum += value;
      squares += value * value;
      if (n < options.heats_min) continue;
      const double variance = (squares - sum * sum / n) / (n - 1);
      if (sum / std::sqrt(n * variance) <= critical[static_cast<std::size_t>(n)]) continue;
      ++found;
      break;
    }
  }
  return static_cast<double>(found) / trial_count;
}

double error_of_all_looks(const AnalysisOptions& options, int trial_count) {
  return error_of_all_looks(
      options, [&](int heats) { return look_error(0.05, options, heats); }, trial_count);
}

TEST(LookError, HoldsTheErrorOfAllLooksTogether) {
  constexpr int kTrials = 20000;
  const double margin = 3 * std::sqrt(0.05 * 0.95 / kTrials);
  for (const auto& [first, last] :
       {std::pair{5, 15}, {3, 15}, {2, 15}, {5, 6}, {10, 40}, {4, 60}}) {
    const double error = error_of_all_looks({.heats_min = first, .heats_max = last}, kTrials);
    EXPECT_LT(error, 0.8 * 0.048 + margin) << first << ".." << last;
    EXPECT_GT(error, 0.8 * 0.040 - margin) << first << ".." << last;  // little is given away
  }
}

// The whole 5 % are for whoever goes on and on.
TEST(LookError, HoldsHoweverManyHeatsAreGrantedLater) {
  constexpr int kTrials = 4000;
  const double margin = 3 * std::sqrt(0.05 * 0.95 / kTrials);
  for (const auto& [first, last] : {std::pair{4, 4}, {4, 12}}) {
    const AnalysisOptions options{.heats_min = first, .heats_max = last, .heats_more = 600};
    EXPECT_LT(error_of_all_looks(options, kTrials), 0.05 + margin) << first << ".." << last;
  }
}

TEST(LookError, WithoutItLooksWouldTripleTheError) {
  const AnalysisOptions options{.heats_min = 5, .heats_max = 15};
  EXPECT_GT(error_of_all_looks(
                options, [](int) { return 0.05; }, 5000),
            0.12);
}

// Five heats of one problem; the controls take these values, heat by heat.
MatchSamples controlled(const std::vector<double>& same, const std::vector<double>& slowed) {
  MatchSamples samples = samples_of({{0}, {0}, {0}, {0}, {0}});
  for (std::size_t i = 0; i < samples.heats.size(); ++i) {
    samples.heats[i].same = {block_of(0, same[i])};
    samples.heats[i].slowed = {block_of(0, slowed[i])};
  }
  return samples;
}

Controls controls_of(const MatchSamples& samples, const DealTerms& terms = {}) {
  return judge_controls(samples, terms).controls;
}

const std::vector<double> kNothing = {0.002, -0.001, 0.001, -0.003, 0.001};
const double kDelay = std::log(kSlowedTruth);
const std::vector<double> kFound = {kDelay + 0.003, kDelay - 0.004, kDelay, kDelay + 0.002,
                                    kDelay - 0.001};

TEST(Controls, PassOnASoundInstrument) {
  const Controls controls = controls_of(controlled(kNothing, kFound));
  EXPECT_TRUE(controls.ok) << controls.why_not;
  EXPECT_EQ(controls.why_not, "");
  EXPECT_EQ(controls.slowed_truth, kSlowedTruth);
  EXPECT_LT(controls.same.low, 1);
  EXPECT_GT(controls.same.high, 1);
  EXPECT_NEAR(controls.slowed.value, kSlowedTruth, 1e-3);
}

// mean 0.02, sd 0.01 / sqrt(2), t(4) of 99.5 % = 4.604095.
TEST(Controls, ReportIntervalsOf99Percent) {
  const std::vector<double> same = {0.01, 0.03, 0.02, 0.02, 0.02};
  const Controls controls = controls_of(controlled(same, kFound));
  EXPECT_NEAR(controls.same.low, std::exp(0.02 - 4.604095 * 0.01 / std::sqrt(10)), 1e-8);
  EXPECT_NEAR(controls.same.high, std::exp(0.02 + 4.604095 * 0.01 / std::sqrt(10)), 1e-8);
}

TEST(Controls, FailWhenTheCopyDiffers) {
  const Controls controls = controls_of(controlled({0.021, 0.02, 0.019, 0.02, 0.02}, kFound));
  EXPECT_FALSE(controls.ok);
  EXPECT_EQ(controls.why_not,
            "the champion against its own copy came out at 1.020x (1.019..1.022)");
}

// A tenth of ln 1.01 is 0.000995.
TEST(Controls, ForgiveABiasTooSmallToTurnAVerdict) {
  EXPECT_TRUE(controls_of(controlled(std::vector(5, 0.00099), kFound)).ok);
  EXPECT_FALSE(controls_of(controlled(std::vector(5, 0.00101), kFound)).ok);
  EXPECT_TRUE(controls_of(controlled(std::vector(5, 0.00101), kFound), {.speedup_min = 1.1}).ok);
}

// Whatever the bounds of the match say is made of the same noise.
TEST(Controls, TooNoisyToShowAnythingContradictNothing) {
  const JudgedControls judged =
      judge_controls(controlled({0.2, -0.3, 0.25, -0.1, 0.02}, {-0.3, 0.2, 0.1, -0.4, -0.1}), {});
  EXPECT_TRUE(judged.controls.ok) << judged.controls.why_not;
  EXPECT_EQ(judged.bias_max, 0);
}

// The mean of the copy is 0.02, t(4) of 99.5 % = 4.604095 and the standard error sqrt(1e-7).
TEST(Controls, SayHowFarTheInstrumentMayBeOff) {
  const JudgedControls judged =
      judge_controls(controlled({0.021, 0.02, 0.019, 0.02, 0.02}, kFound), {});
  EXPECT_NEAR(judged.bias_max, 0.02 + 4.604095 * std::sqrt(0.5e-6 / 5), 1e-6);
}

// A quarter of ln 0.9 may be missing or too much, and no more.
TEST(Controls, FailWhenTheDelayComesOutWrong) {
  const auto judge = [](double share) {
    return controls_of(controlled(kNothing, std::vector(5, share * kDelay)));
  };
  EXPECT_TRUE(judge(0.76).ok);
  EXPECT_TRUE(judge(1.24).ok);
  EXPECT_FALSE(judge(1.26).ok);
  EXPECT_FALSE(judge(0).ok);
  EXPECT_EQ(judge(0.7).why_not, "the champion slowed to 0.900x came out at 0.929x (0.929..0.929)");
}

TEST(Controls, FailWhenTheyWereNotTaken) {
  MatchSamples samples = controlled(kNothing, kFound);
  for (HeatSamples& heat : samples.heats) heat.slowed.clear();
  EXPECT_EQ(controls_of(samples).why_not, "the champion was not measured with a known delay");
  for (HeatSamples& heat : samples.heats) heat.same.clear();
  EXPECT_EQ(controls_of(samples).why_not, "the champion was not measured against its own copy");
  EXPECT_FALSE(controls_of(samples).ok);
}

// Five heats of both arms that go up and down together, the challenger further by this factor.
double p_of_factor(double factor) {
  const std::vector<double> champion = {0, 0.4, 0.1, 0.3, 0.2};
  std::vector<double> challenger;
  for (const double value : champion) challenger.push_back(factor * value - 1);
  return spread_p_value(champion, challenger);
}

// One order of 120 goes entirely with the other arm's; turned round it is the least surprising.
TEST(SpreadPValue, IsExactForFewHeats) {
  EXPECT_NEAR(p_of_factor(1.5), 1.0 / 120, 1e-12);
  EXPECT_NEAR(p_of_factor(0.5), 1, 1e-12);
  EXPECT_EQ(spread_p_value(std::vector{0.0}, std::vector{1.0}), 1);
}

// Arms that spread alike, whatever hits both of them: at most its level, nearly so where exact.
TEST(SpreadPValue, KeepsItsLevelHoweverMuchTheArmsGoTogether) {
  constexpr int kTrials = 4000;
  constexpr int kHeats = 9;
  for (const double common : {0.0, 1.0, 7.0}) {
    Random random(3);
    int found = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> champion;
      std::vector<double> challenger;
      for (int i = 0; i < kHeats; ++i) {
        const double both = common * normal_value(random);
        champion.push_back(both + normal_value(random));
        challenger.push_back(both + normal_value(random));
      }
      found += spread_p_value(champion, challenger) < 0.05 ? 1 : 0;
    }
    EXPECT_LT(found, kTrials * 0.05 + 4 * std::sqrt(kTrials * 0.05));
    EXPECT_GT(found, kTrials * 0.02) << common;
  }
}

}  // namespace
}  // namespace thresher::referee
