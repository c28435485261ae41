// SPDX-License-Identifier: Apache-2.0
// The error rates that docs/statistics.md promises, counted. `thresher referee simulate` prints the
// same figures; expectations here allow for the chance of counting a limited number of trials.
// Expected shares of designs are those of an independent simulation of the same worlds.
#include "referee/statistics/simulation.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace thresher::referee {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr double kAllowed = 0.05;  // the error the deal terms state

const SimulatedWorld& world(std::string_view name) {
  for (const NamedWorld& named : kWorlds) {
    if (named.name == name) return named.world;
  }
  ADD_FAILURE() << "no world " << name;
  return kWorlds.front().world;
}

// 3.5 standard deviations of a share of `trial_count` trials: exceeded once in two thousand tests.
double margin(double share, int trial_count) {
  return 3.5 * std::sqrt(share * (1 - share) / trial_count);
}

void expect_share(double found, double expected, int trial_count, std::string_view what) {
  EXPECT_NEAR(found, expected, margin(expected, trial_count)) << what << ", seed " << kSeed;
}

void expect_at_most(double found, double limit, int trial_count, std::string_view what) {
  EXPECT_LE(found, limit + margin(limit, trial_count)) << what << ", seed " << kSeed;
}

TEST(Designs, FreshProcessesKeepTheirErrorInEveryWorld) {
  constexpr int kTrials = 1000;
  for (const NamedWorld& named : kWorlds) {
    const Design design{"", play_fresh_processes};
    const DesignRates rates = rate_design(design, named.world, kTrials, kSeed);
    expect_share(rates.false_positives, 0.047, kTrials, named.name);
    const bool lucky = named.world.process_offset_sd > 0;
    expect_share(rates.power, lucky ? 0.91 : 0.98, kTrials, named.name);
  }
}

struct Trap {
  Design design;
  std::string_view world;
  double false_positives;
  double power;
};

// The worlds must fool those who do not know better, or the test above would mean nothing.
TEST(Designs, OthersFallIntoTheirTraps) {
  constexpr int kTrials = 1000;
  constexpr Trap kTraps[] = {
      {{"Welch", play_one_after_the_other}, "quiet", 0.05, 0.995},
      {{"Welch", play_one_after_the_other}, "+ drift", 0.50, 0.92},
      {{"Welch", play_one_after_the_other}, "+ process luck", 0.59, 0.86},
      {{"pairs", play_pairs}, "+ drift", 0.04, 0.995},
      {{"pairs", play_pairs}, "+ slot order", 0.38, 0.98},
      {{"one process", play_one_process}, "+ slot order", 0.05, 0.995},
      {{"one process", play_one_process}, "+ process luck", 0.42, 0.96},
  };
  for (const Trap& trap : kTraps) {
    const DesignRates rates = rate_design(trap.design, world(trap.world), kTrials, kSeed);
    expect_share(rates.false_positives, trap.false_positives, kTrials, trap.design.name);
    expect_share(rates.power, trap.power, kTrials, trap.design.name);
  }
}

TEST(Designs, PeekingFindsSomethingInTheEnd) {
  constexpr int kTrials = 300;
  const Design peeking{"", play_until_significant};
  expect_share(rate_design(peeking, world("quiet"), kTrials, kSeed).false_positives, 0.28, kTrials,
               "quiet");
  expect_share(rate_design(peeking, world("+ process luck"), kTrials, kSeed).false_positives, 0.77,
               kTrials, "+ process luck");
}

VerdictRates rate_contract(const std::vector<double>& speedups, AnalysisOptions options,
                           int trial_count) {
  return rate_verdicts(contract_plan(speedups, options), trial_count, kSeed);
}

// About 1 % of matches are void by chance, whatever the challenger is.
TEST(Contract, HoldsAtFiveHeats) {
  constexpr int kTrials = 600;
  constexpr AnalysisOptions kFive{.heats_min = 5, .heats_max = 5};
  EXPECT_EQ(rate_contract({1, 1, 1, 1}, kFive, kTrials).accepted, 0);
  EXPECT_EQ(rate_contract({1.04, 1.04, 1.04, 0.96}, kFive, kTrials).accepted, 0);
  const VerdictRates gain = rate_contract({1.02, 1.02, 1.02, 1.02}, kFive, kTrials);
  EXPECT_GT(gain.accepted, 0.93);
  expect_share(gain.controls_failed, 0.01, kTrials, "controls");
  EXPECT_EQ(gain.rejected, 0);
  expect_at_most(rate_contract({1.04, 1.04, 1.04, 1 / 1.03}, kFive, kTrials).accepted, kAllowed,
                 kTrials, "-3 %");
}

TEST(Contract, HoldsFromFiveToFifteenHeats) {
  constexpr int kTrials = 400;
  const VerdictRates none = rate_contract({1, 1, 1, 1}, {}, kTrials);
  EXPECT_EQ(none.accepted, 0);
  EXPECT_GT(none.rejected, 0.99);
  EXPECT_LT(none.heats_mean, 5.8);
  const VerdictRates gain = rate_contract({1.02, 1.02, 1.02, 1.02}, {}, kTrials);
  EXPECT_GT(gain.accepted, 0.99);
  EXPECT_LT(gain.heats_mean, 6.2);
  EXPECT_GT(rate_contract({1.03, 1.03, 1.03, 0.99}, {}, kTrials).accepted, 0.99);
  const VerdictRates slower = rate_contract({1.04, 1.04, 1.04, 0.96}, {}, kTrials);
  EXPECT_EQ(slower.accepted, 0);
  EXPECT_GT(slower.rejected, 0.8);
}

// A challenger on the line must not talk its way in by being looked at eleven times.
TEST(Contract, KeepsItsErrorOnTheLinesUnderRepeatedLooks) {
  constexpr int kTrials = 400;
  const VerdictRates regression = rate_contract({1.04, 1.04, 1.04, 1 / 1.03}, {}, kTrials);
  expect_at_most(regression.accepted, kAllowed, kTrials, "accepted at -3 %");
  expect_at_most(regression.rejected, kAllowed, kTrials, "rejected at -3 %");
  const VerdictRates asked = rate_contract({1.01, 1.01, 1.01, 1.01}, {}, kTrials);
  expect_at_most(asked.rejected, kAllowed, kTrials, "rejected at +1 %");
}

TEST(Contract, StopsAtOnceWhenTheCaseIsClear) {
  constexpr int kTrials = 200;
  const VerdictRates faster = rate_contract({1.2, 1.2, 1.2, 1.2}, {}, kTrials);
  EXPECT_EQ(faster.accepted, 1);
  EXPECT_LT(faster.heats_mean, 5.1);
  const VerdictRates slower = rate_contract({0.8, 0.8, 0.8, 0.8}, {}, kTrials);
  EXPECT_EQ(slower.rejected, 1);
  EXPECT_LT(slower.heats_mean, 5.1);
}

// Where people live: nothing false beyond the terms' error, no regression let through, and what is
// plainly there is decided in the heats that fit 25 s.
TEST(NoisyWorlds, KeepTheErrorsAndHavePower) {
  constexpr int kTrials = 150;
  for (const NamedWorld& named : kNoisyWorlds) {
    const auto rate = [&](const std::vector<double>& speedups) {
      return rate_verdicts(noisy_plan(named.world, speedups), kTrials, kSeed);
    };
    // Where the weather prefers one kernel, that kernel is the faster one there.
    if (named.world.guest.unequal_by_code == 0) {
      expect_at_most(rate({1, 1, 1}).accepted, kAllowed, kTrials, named.name);
      EXPECT_EQ(rate({1.08, 1.08, 0.96}).accepted, 0) << named.name;
    }
    EXPECT_GE(rate({1.1, 1.1, 1.1}).accepted, 0.8) << named.name;
    EXPECT_GE(rate({1.3, 1.3, 1.3}).accepted, 0.95) << named.name;
    EXPECT_GE(rate({0.8, 0.8, 0.8}).rejected, 0.95) << named.name;
  }
}

// Bursts that hit the challenger harder than the champion are no unsteadiness of its own; heats
// that differ by 40 % are, whatever the machine does.
TEST(NoisyWorlds, ConvictOfSpreadWhoIsUnsteadyAndNobodyOfTheWeather) {
  constexpr int kTrials = 200;
  for (const NamedWorld& named : kNoisyWorlds) {
    for (const double speedup : {1.0, 1.1}) {
      const std::vector<double> speedups(3, speedup);
      const VerdictRates steady = rate_verdicts(noisy_plan(named.world, speedups), kTrials, kSeed);
      expect_at_most(steady.rejected_for_spread, 0.005, kTrials, named.name);
    }
    const VerdictRates unsteady =
        rate_verdicts(noisy_plan(named.world, {1.3, 1.3, 1.3}, 0.4), kTrials, kSeed);
    expect_at_most(unsteady.accepted, kAllowed, kTrials, named.name);
    EXPECT_GT(unsteady.rejected_for_spread, 0.05) << named.name;
  }
}

// One problem, by which a match is most easily fooled. The gain that is asked for is there.
TEST(NoisyWorlds, InACrowdNothingFalseIsSaid) {
  constexpr int kTrials = 400;
  const auto rate = [](double speedup) {
    return rate_verdicts(noisy_plan(kCrowd, {speedup}), kTrials, kSeed);
  };
  expect_at_most(rate(1).accepted, kAllowed, kTrials, "no gain, accepted");
  expect_at_most(rate(1.01).rejected, kAllowed, kTrials, "the gain asked, rejected");
  expect_at_most(rate(1.3).rejected, kAllowed, kTrials, "30 % faster, rejected");
  EXPECT_EQ(rate(0.96).accepted, 0);
}

// Leaving out by a rule that sees no ratio must not make nothing look like something.
TEST(NoisyWorlds, LeavingOutAddsNoFalseFindings) {
  constexpr int kTrials = 400;
  SimulatedWorld world = kNoisyWorlds.back().world;
  world.guest.stay_calls = 40;  // several visits in a heat
  const auto rate = [&](bool marks, double speedup) {
    MatchPlan plan = noisy_plan(world, {speedup});
    plan.terms.regression_max = 1e6;
    plan.truth.marks_disturbed = marks;
    return rate_verdicts(plan, kTrials, kSeed);
  };
  expect_at_most(rate(true, 1).accepted, kAllowed, kTrials, "no gain, accepted");
  expect_at_most(rate(true, 1.01).rejected, kAllowed, kTrials, "the gain asked, rejected");
  EXPECT_GE(rate(true, 1.05).accepted + 0.03, rate(false, 1.05).accepted);
}

TEST(Noise, DoesNotRaiseTheErrorOfTheReferee) {
  constexpr int kTrials = 1000;
  for (const double noise : kNoises) {
    const std::string what = std::to_string(noise);
    const VerdictRates none = rate_verdicts(noise_plan(noise, 1), kTrials, kSeed);
    expect_at_most(none.accepted, kAllowed, kTrials, what);
    const VerdictRates asked = rate_verdicts(noise_plan(noise, 1.01), kTrials, kSeed);
    expect_at_most(asked.rejected, kAllowed, kTrials, what);
  }
}

// One problem in the last world, whose heats spread by 0.9 % where the history says 1 %.
TEST(ProbabilityRatioTest, IsEfficientWhereTheHistoryIsRight) {
  constexpr int kTrials = 1000;
  MatchPlan plan{.world = kWorlds.back().world, .options = {.heats_min = 4, .heats_max = 15}};
  const VerdictRates none = rate_probability_ratio_test(plan, kTrials, kSeed);
  expect_at_most(none.accepted, kAllowed, kTrials, "no gain");
  plan.truth.speedups = {1.02};
  const VerdictRates gain = rate_probability_ratio_test(plan, kTrials, kSeed);
  EXPECT_GT(gain.accepted, 0.99);
  EXPECT_LT(gain.heats_mean, 4.4);
}

// Why the referee does not decide by it.
TEST(ProbabilityRatioTest, ErrsTwiceAsOftenAsAllowedWhereTheHistoryIsWrong) {
  constexpr int kTrials = 1000;
  const auto rate = [](double noise_sd, double speedup) {
    return rate_probability_ratio_test(noise_plan(noise_sd, speedup), kTrials, kSeed);
  };
  expect_share(rate(0.04, 1).accepted, 0.10, kTrials, "no gain");
  expect_share(rate(0.04, 1.01).rejected, 0.10, kTrials, "the gain asked");
}

// At five heats of sd 1 %, where the history of 1 % changes nothing: the mean that makes
// 5 s (2 m - s) / 2e-4 = ln 19 for s = ln 1.01 is 1.09 %.
TEST(ProbabilityRatioTest, IsTheFormula) {
  const double s = std::log(1.01);
  const double m = s / 2 + std::log(19) * 1e-4 / (5 * s);
  EXPECT_NEAR(m, 0.010893, 1e-6);
  EXPECT_EQ(probability_ratio_test({5, m + 1e-6, 0.01}, s), VerdictKind::kAccepted);
  EXPECT_EQ(probability_ratio_test({5, m - 1e-6, 0.01}, s), VerdictKind::kUnclear);
  EXPECT_EQ(probability_ratio_test({5, s - m + 1e-6, 0.01}, s), VerdictKind::kUnclear);
  EXPECT_EQ(probability_ratio_test({5, s - m - 1e-6, 0.01}, s), VerdictKind::kRejected);
  // 3 % in the heats: (4 * 9 + 5) / 9 e-4 instead of 1e-4.
  const double shrunk = s / 2 + std::log(19) * 41e-4 / 9 / (5 * s);
  EXPECT_EQ(probability_ratio_test({5, shrunk + 1e-6, 0.03}, s), VerdictKind::kAccepted);
  EXPECT_EQ(probability_ratio_test({5, shrunk - 1e-6, 0.03}, s), VerdictKind::kUnclear);
}

// A gain of the size the match says it can find is found in nine matches of ten.
TEST(MinimumDetectableEffect, IsFoundWithItsPower) {
  constexpr int kTrials = 1000;
  constexpr AnalysisOptions kFive{.heats_min = 5, .heats_max = 5};
  for (const double noise : {0.003, 0.02}) {  // bound by the gain asked, bound by the noise
    MatchPlan plan = noise_plan(noise, 1);
    plan.world.outlier_share = 0;
    plan.options = kFive;
    // What a match would say whose heats spread exactly as the world's do.
    MatchSamples typical{.problems = {"p"}};
    const double e = noise / std::sqrt(3) * std::sqrt(4 / 2.5);
    for (const double value : {-1.0, 1.0, 0.5, -0.5, 0.0}) {
      typical.heats.push_back(
          {.match = {{0, true, {1, 1}, {std::exp(value * e), std::exp(value * e)}}}});
    }
    const double effect = estimate(typical, plan.terms, kFive).minimum_detectable_effect;
    plan.truth.speedups = {1 + effect};
    const VerdictRates rates = rate_verdicts(plan, kTrials, kSeed);
    EXPECT_NEAR(rates.accepted, 0.9, 0.03 + margin(0.9, kTrials)) << noise << ' ' << effect;
  }
}

}  // namespace
}  // namespace thresher::referee
