// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/simulation.hpp"

#include <cmath>

#include "referee/statistics/round_mean.hpp"
#include "referee/statistics/round_values.hpp"

namespace thresher::referee {
namespace {

constexpr double kGain = 1.02;

// Seeds of trials must not meet those of another base seed close by.
std::uint64_t trial_seed(std::uint64_t seed, int trial_index) {
  return Random(seed, static_cast<std::uint64_t>(trial_index)).next();
}

struct Outcome {
  VerdictKind kind = VerdictKind::kUnclear;
  bool controls_failed = false;
  int round_count = 0;
};

Outcome play_by_referee(const MatchPlan& plan, std::uint64_t seed) {
  SimulatedMatch match(plan.world, plan.truth, seed);
  do {
    match.play_round();
  } while (next_step(match.samples(), plan.terms, plan.options) == Next::kMoreRounds);
  const Verdict verdict = decide(match.samples(), plan.terms, plan.options);
  return {verdict.kind, verdict.check == check::kControls, verdict.estimate->round_count};
}

Outcome play_by_probability_ratio_test(const MatchPlan& plan, std::uint64_t seed) {
  SimulatedMatch match(plan.world, plan.truth, seed);
  Outcome outcome;
  while (outcome.kind == VerdictKind::kUnclear && outcome.round_count < plan.options.rounds_max) {
    match.play_round();
    if (++outcome.round_count < plan.options.rounds_min) continue;
    const RoundMean gain = mean_of_rounds(round_values(match.samples()).geomean_log_ratio);
    outcome.kind = probability_ratio_test(gain, std::log(plan.terms.speedup_min));
  }
  return outcome;
}

template <typename Play>
VerdictRates rate(const MatchPlan& plan, int trial_count, std::uint64_t seed, Play play) {
  VerdictRates rates;
  for (int i = 0; i < trial_count; ++i) {
    const Outcome outcome = play(plan, trial_seed(seed, i));
    rates.accepted += outcome.kind == VerdictKind::kAccepted;
    rates.rejected += outcome.kind == VerdictKind::kRejected;
    rates.unclear += outcome.kind == VerdictKind::kUnclear;
    rates.controls_failed += outcome.controls_failed;
    rates.rounds_mean += outcome.round_count;
  }
  for (double* value : {&rates.accepted, &rates.rejected, &rates.unclear, &rates.controls_failed,
                        &rates.rounds_mean}) {
    *value /= trial_count;
  }
  return rates;
}

}  // namespace

DesignRates rate_design(const Design& design, const SimulatedWorld& world, int trial_count,
                        std::uint64_t seed) {
  DesignRates rates;
  for (int i = 0; i < trial_count; ++i) {
    const std::uint64_t one = trial_seed(seed, i);
    rates.false_positives += design.play(world, 1, one) != Finding::kNothing;
    rates.power += design.play(world, kGain, one) == Finding::kFaster;
  }
  rates.false_positives /= trial_count;
  rates.power /= trial_count;
  return rates;
}

VerdictRates rate_verdicts(const MatchPlan& plan, int trial_count, std::uint64_t seed) {
  return rate(plan, trial_count, seed, play_by_referee);
}

VerdictRates rate_probability_ratio_test(const MatchPlan& plan, int trial_count,
                                         std::uint64_t seed) {
  return rate(plan, trial_count, seed, play_by_probability_ratio_test);
}

std::vector<NamedTruth> contract_truths() {
  return {{"no gain", {1, 1, 1, 1}},
          {"half of the gain asked", {1.005, 1.005, 1.005, 1.005}},
          {"exactly the gain asked", {1.01, 1.01, 1.01, 1.01}},
          {"+2 % everywhere", {1.02, 1.02, 1.02, 1.02}},
          {"+3/+3/+3/-1 %", {1.03, 1.03, 1.03, 0.99}},
          {"+4/+4/+4/-3 %, the limit", {1.04, 1.04, 1.04, 1 / 1.03}},
          {"+4/+4/+4/-4 %", {1.04, 1.04, 1.04, 0.96}},
          {"20 % faster", {1.2, 1.2, 1.2, 1.2}},
          {"20 % slower", {0.8, 0.8, 0.8, 0.8}}};
}

MatchPlan contract_plan(const std::vector<double>& speedups, const AnalysisOptions& options) {
  return {.world = kWorlds.back().world, .truth = {.speedups = speedups}, .options = options};
}

MatchPlan noise_plan(double noise_sd, double speedup) {
  constexpr double kNoLimit = 1e6;
  return {.world = {.noise_sd = noise_sd},
          .truth = {.speedups = {speedup}, .slowed_speedup = 0.5},
          .terms = {.regression_max = kNoLimit, .spread_max = kNoLimit}};
}

}  // namespace thresher::referee
