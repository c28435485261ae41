// SPDX-License-Identifier: Apache-2.0
#include "tank/season/replay.hpp"

#include <cmath>
#include <map>
#include <set>

namespace thresher {
namespace {

using Json = nlohmann::json;

std::optional<double> number_at(const Json& object, const char* key) {
  if (!object.is_object()) return std::nullopt;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// What was said of one pitch, as far as it can be scored.
struct Statement {
  std::string shark;
  std::optional<double> p_works;
  std::optional<NormalForecast> size;
};

Statement statement_of(const Json& ballot) {
  const Json forecast = ballot.contains("forecast") ? ballot.at("forecast") : Json();
  const std::optional<double> low = number_at(forecast, "log_speedup_low");
  const std::optional<double> high = number_at(forecast, "log_speedup_high");
  const std::optional<double> median = number_at(forecast, "log_speedup_median");
  Statement statement{.shark = text_at(ballot, "shark"), .p_works = number_at(forecast, "p_works")};
  const bool votes = ballot.contains("vote") && ballot.at("vote") == true;
  if (!statement.p_works && votes) statement.p_works = kVoteMeans;
  if (low && high) {
    statement.size = normal_forecast({.log_speedup_median = median.value_or((*low + *high) / 2),
                                      .log_speedup_low = *low,
                                      .log_speedup_high = *high});
  }
  return statement;
}

std::map<std::string, double> losses(const std::vector<Statement>& statements,
                                     const Json& verdict) {
  const std::string kind = text_at(verdict, "kind");
  const Json speedup = verdict.contains("speedup") ? verdict.at("speedup") : Json();
  const std::optional<double> value = number_at(speedup, "value");
  std::map<std::string, double> loss;
  for (const Statement& statement : statements) {
    ForecastScore score;
    if (statement.p_works && kind != "unclear") {
      score.brier = brier(*statement.p_works, kind == "accepted");
    }
    if (statement.size && value && *value > 0) {
      score.crps = crps(*statement.size, std::log(*value), 0);
    }
    if (score.is_resolved()) loss[statement.shark] = score.loss();
  }
  return loss;
}

}  // namespace

std::vector<RoundCredibilities> replayed_credibilities(const std::vector<LedgerEntry>& entries) {
  std::map<std::pair<int, std::string>, std::vector<Statement>> statements;
  std::set<std::string> sharks;
  std::vector<RoundCredibilities> rounds;
  Credibilities weights;
  for (const LedgerEntry& entry : entries) {
    const Json& data = entry.data;
    const int round = static_cast<int>(number_at(data, "round").value_or(0));
    if (entry.kind == "ballot") {
      statements[{round, text_at(data, "pitch")}].push_back(statement_of(data));
      sharks.insert(text_at(data, "shark"));
    } else if (entry.kind == "verdict" && !sharks.empty()) {
      weights = credibilities_for({sharks.begin(), sharks.end()}, weights);
      weights = updated(weights, losses(statements[{round, text_at(data, "pitch")}], data),
                        learning_rate(sharks.size()));
      if (rounds.empty() || rounds.back().round != round) rounds.push_back({.round = round});
      rounds.back().weights = weights;
    }
  }
  return rounds;
}

}  // namespace thresher
