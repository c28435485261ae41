// SPDX-License-Identifier: Apache-2.0
// Who was right: proper scores for forecasts, and the weights that follow from them. Pure
// functions.
//
// Speedups are scored as natural logarithms, so that twice too much and twice too little cost the
// same. A measurement is a normal distribution, never a point: noise is not the shark's fault.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tank/panel/ballot.hpp"

namespace thresher {

struct Estimate;
struct SeasonRecord;
struct Verdict;

// ln(speedup) as measured. Without a value (it did not build, was wrong, or hung) only p_works can
// be scored; without `works` (unclear) only the size can.
struct Outcome {
  std::optional<bool> works;
  std::optional<double> log_speedup;
  double log_speedup_sd = 0;
};
// What the forecasts about a match are compared with. Unclear verdicts do not say whether it works.
Outcome outcome_of(const Verdict& verdict);

// The standard deviation of ln(speedup) behind a 95 % interval; not finite where that is open.
double log_sd(const Estimate& speedup);

// A forecast's normal distribution: its median, and the width of its 80 % interval.
struct NormalForecast {
  double mean = 0;
  double sd = 0;
};
NormalForecast normal_forecast(const Forecast& forecast);

// Expected continuous ranked probability score of N(mean, sd^2) against N(y, y_sd^2): the mean
// distance of two draws less half the mean distance within the forecast. In nats, 0 is perfect.
double crps(const NormalForecast& forecast, double y, double y_sd);

double brier(double p_works, bool works);

// A forecast that is this far off in ln(speedup), a factor of two, has the worst scaled score.
inline constexpr double kCrpsScale = 0.6931471805599453;

struct ForecastScore {
  std::optional<double> crps;
  std::optional<double> brier;

  bool is_resolved() const { return crps || brier; }
  // The mean of what could be scored, scaled to [0, 1]; 0 is perfect.
  double loss() const;
};
ForecastScore score_forecast(const Forecast& forecast, const Outcome& outcome);

// Credibilities by shark, summing to 1.
using Credibilities = std::map<std::string, double>;

// Sharks that `known` does not have enter with the mean weight; others keep their proportions.
Credibilities credibilities_for(const std::vector<std::string>& sharks, const Credibilities& known);

// Resolved pitches the learning rate is made for: with fewer than ten weights barely move.
inline constexpr double kHorizon = 50;
// Part of the weight that is always shared equally, so that no shark dies.
inline constexpr double kFixedShare = 0.05;

double learning_rate(std::size_t shark_count, double horizon = kHorizon);

// Multiplicative weights, w exp(-eta loss), renormalised, then the fixed share. `loss` has the
// sharks that had a resolved forecast; the others keep their place: they lose what the mean loses.
Credibilities updated(const Credibilities& weights, const std::map<std::string, double>& loss,
                      double eta);

// n / (1 + (n - 1) rho), rho the mean pairwise correlation of forecast errors, not below 0.
struct EffectiveJudges {
  double value = 0;
  double correlation = 0;
  std::size_t pitch_count = 0;  // resolved pitches behind it
};
inline constexpr std::size_t kPitchesForCorrelation = 3;
// By shark, one error per pitch, all in the same order of pitches. Nothing below
// kPitchesForCorrelation pitches or two sharks: fewer say nothing.
std::optional<EffectiveJudges> effective_judges(
    const std::map<std::string, std::vector<double>>& errors);

// The data of the `credibility` entry of a round (docs/ledger.md). effective_judges is null while
// too few pitches have resolved; `resolved_pitches` says how many have.
nlohmann::json credibility_entry(const SeasonRecord& record, int number);

}  // namespace thresher
