// SPDX-License-Identifier: Apache-2.0
#include "tank/panel/credibility.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "assert.hpp"
#include "referee/statistics/distributions.hpp"
#include "tank/season/season_record.hpp"

namespace thresher {
namespace {

using Json = nlohmann::json;

// Half a 95 % interval in standard deviations.

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// E|X| of X ~ N(mean, sd^2).
double mean_distance(double mean, double sd) {
  if (sd == 0) return std::abs(mean);
  const double z = mean / sd;
  return sd * std::sqrt(2 / std::numbers::pi) * std::exp(-z * z / 2) +
         mean * (1 - 2 * referee::normal_cdf(-z));
}

// Pearson's; 0 where one of the two does not vary.
double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double mean_a = mean_of(a);
  const double mean_b = mean_of(b);
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

Credibilities normalised(Credibilities weights) {
  double sum = 0;
  for (const auto& [shark, weight] : weights) sum += weight;
  THRESHER_ASSERT(sum > 0);
  for (auto& [shark, weight] : weights) weight /= sum;
  return weights;
}

// One shark's scores over the pitches of a round.
struct Tally {
  double crps = 0;
  int crps_count = 0;
  double brier = 0;
  int brier_count = 0;

  void add(const ForecastScore& score) {
    if (score.crps) crps += *score.crps, ++crps_count;
    if (score.brier) brier += *score.brier, ++brier_count;
  }
  Json json() const {
    return {{"crps", crps_count > 0 ? Json(crps / crps_count) : Json()},
            {"brier", brier_count > 0 ? Json(brier / brier_count) : Json()}};
  }
};

std::vector<std::string> sharks_of(const SeasonRecord& record, const RoundRecord& round) {
  std::set<std::string> names;
  for (const auto& [shark, weight] : record.credibilities) names.insert(shark);
  for (const Ballot& ballot : round.ballots) names.insert(ballot.shark);
  return {names.begin(), names.end()};
}

// Errors of all sharks on every timed pitch that all of them have judged.
std::map<std::string, std::vector<double>> forecast_errors(const SeasonRecord& record,
                                                           const std::vector<std::string>& sharks) {
  std::map<std::string, std::vector<double>> errors;
  for (const auto& [number, round] : record.rounds) {
    for (const PlayedMatch& match : round.matches) {
      const Outcome outcome = outcome_of(match.verdict);
      std::map<std::string, double> error;
      for (const Ballot& ballot : round.ballots) {
        if (ballot.pitch != match.pitch || !outcome.log_speedup) continue;
        error[ballot.shark] = ballot.forecast.log_speedup_median - *outcome.log_speedup;
      }
      if (error.size() != sharks.size()) continue;
      for (const auto& [shark, value] : error) errors[shark].push_back(value);
    }
  }
  return errors;
}

}  // namespace

double log_sd(const Estimate& speedup) {
  return (std::log(speedup.high) - std::log(speedup.low)) / (2 * referee::kNormalQuantile975);
}

Outcome outcome_of(const Verdict& verdict) {
  Outcome outcome;
  if (verdict.kind != VerdictKind::kUnclear) {
    outcome.works = verdict.kind == VerdictKind::kAccepted;
  }
  if (!verdict.estimate) return outcome;
  const Estimate& speedup = verdict.estimate->speedup;
  const double sd = log_sd(speedup);
  // A single round leaves the interval open: nothing to score a size against.
  if (!std::isfinite(sd) || !std::isfinite(std::log(speedup.value))) return outcome;
  outcome.log_speedup = std::log(speedup.value);
  outcome.log_speedup_sd = sd;
  return outcome;
}

NormalForecast normal_forecast(const Forecast& forecast) {
  return {.mean = forecast.log_speedup_median,
          .sd = (forecast.log_speedup_high - forecast.log_speedup_low) /
                (2 * referee::kNormalQuantile90)};
}

double crps(const NormalForecast& forecast, double y, double y_sd) {
  const double within = forecast.sd / std::sqrt(std::numbers::pi);
  return mean_distance(forecast.mean - y, std::hypot(forecast.sd, y_sd)) - within;
}

double brier(double p_works, bool works) {
  const double miss = p_works - (works ? 1 : 0);
  return miss * miss;
}

double ForecastScore::loss() const {
  THRESHER_ASSERT(is_resolved());
  const double size = crps ? std::clamp(*crps / kCrpsScale, 0.0, 1.0) : 0;
  if (!brier) return size;
  return crps ? (size + *brier) / 2 : *brier;
}

ForecastScore score_forecast(const Forecast& forecast, const Outcome& outcome) {
  ForecastScore score;
  if (outcome.works) score.brier = brier(forecast.p_works, *outcome.works);
  if (outcome.log_speedup) {
    score.crps = crps(normal_forecast(forecast), *outcome.log_speedup, outcome.log_speedup_sd);
  }
  return score;
}

Credibilities credibilities_for(const std::vector<std::string>& sharks,
                                const Credibilities& known) {
  double known_sum = 0;
  double known_count = 0;
  for (const std::string& shark : sharks) {
    const auto found = known.find(shark);
    if (found == known.end()) continue;
    known_sum += found->second;
    known_count += 1;
  }
  const double newcomer = known_sum > 0 ? known_sum / known_count : 1;
  Credibilities weights;
  for (const std::string& shark : sharks) {
    const auto found = known.find(shark);
    weights[shark] = found == known.end() || known_sum == 0 ? newcomer : found->second;
  }
  return normalised(std::move(weights));
}

double learning_rate(std::size_t shark_count, double horizon) {
  return std::sqrt(8 * std::log(static_cast<double>(shark_count)) / horizon);
}

Credibilities updated(const Credibilities& weights, const std::map<std::string, double>& loss,
                      double eta) {
  if (loss.empty()) return weights;
  double loss_sum = 0;
  for (const auto& [shark, value] : loss) loss_sum += value;
  const double loss_mean = loss_sum / static_cast<double>(loss.size());
  Credibilities moved = weights;
  for (auto& [shark, weight] : moved) {
    const auto found = loss.find(shark);
    weight *= std::exp(-eta * (found == loss.end() ? loss_mean : found->second));
  }
  moved = normalised(std::move(moved));
  const double floor = kFixedShare / static_cast<double>(moved.size());
  for (auto& [shark, weight] : moved) weight = (1 - kFixedShare) * weight + floor;
  return moved;
}

std::optional<EffectiveJudges> effective_judges(
    const std::map<std::string, std::vector<double>>& errors) {
  if (errors.size() < 2) return std::nullopt;
  const std::size_t pitch_count = errors.begin()->second.size();
  if (pitch_count < kPitchesForCorrelation) return std::nullopt;
  double sum = 0;
  double pair_count = 0;
  for (auto a = errors.begin(); a != errors.end(); ++a) {
    THRESHER_ASSERT(a->second.size() == pitch_count);
    for (auto b = std::next(a); b != errors.end(); ++b) {
      sum += correlation(a->second, b->second);
      pair_count += 1;
    }
  }
  // Errors that cancel are better than independent ones, but no panel counts as more than itself.
  const double rho = std::max(0.0, sum / pair_count);
  const double n = static_cast<double>(errors.size());
  return EffectiveJudges{
      .value = n / (1 + (n - 1) * rho), .correlation = rho, .pitch_count = pitch_count};
}

nlohmann::json credibility_entry(const SeasonRecord& record, int number) {
  const RoundRecord& round = record.rounds.at(number);
  const std::vector<std::string> sharks = sharks_of(record, round);
  const double eta = learning_rate(sharks.size());
  Credibilities weights = credibilities_for(sharks, record.credibilities);
  std::map<std::string, Tally> tallies;
  for (const PlayedMatch& match : round.matches) {
    const Outcome outcome = outcome_of(match.verdict);
    std::map<std::string, double> loss;
    for (const Ballot& ballot : round.ballots) {
      if (ballot.pitch != match.pitch) continue;
      const ForecastScore score = score_forecast(ballot.forecast, outcome);
      if (!score.is_resolved()) continue;
      tallies[ballot.shark].add(score);
      loss[ballot.shark] = score.loss();
    }
    weights = updated(weights, loss, eta);
  }
  Json scores = Json::object();
  for (const auto& [shark, tally] : tallies) scores[shark] = tally.json();
  const auto errors = forecast_errors(record, sharks);
  const std::optional<EffectiveJudges> judges = effective_judges(errors);
  return {{"round", number},
          {"weights", weights},
          {"scores", std::move(scores)},
          {"effective_judges", judges ? Json(judges->value) : Json()},
          {"resolved_pitches", errors.empty() ? 0 : errors.begin()->second.size()}};
}

}  // namespace thresher
