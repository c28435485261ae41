// SPDX-License-Identifier: Apache-2.0
#include "tank/panel/forecast_scoring.hpp"

#include <cmath>

#include "referee/statistics/distributions.hpp"

namespace thresher {
namespace {

using Json = nlohmann::json;

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

Outcome outcome_of(const Verdict& verdict) {
  Outcome outcome;
  if (verdict.kind != VerdictKind::kUnclear) {
    outcome.works = verdict.kind == VerdictKind::kAccepted;
  }
  if (!verdict.estimate) return outcome;
  const Estimate& speedup = verdict.estimate->speedup;
  const double sd =
      (std::log(speedup.high) - std::log(speedup.low)) / (2 * referee::kNormalQuantile975);
  // A single round leaves the interval open: nothing to score a size against.
  if (!std::isfinite(sd) || !std::isfinite(std::log(speedup.value))) return outcome;
  outcome.log_speedup = std::log(speedup.value);
  outcome.log_speedup_sd = sd;
  return outcome;
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
