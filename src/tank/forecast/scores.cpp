// SPDX-License-Identifier: Apache-2.0
#include "tank/forecast/scores.hpp"

#include <algorithm>
#include <cmath>

#include "referee/statistics/distributions.hpp"
#include "referee/statistics/json.hpp"
#include "tank/forecast/forecasts.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

using Json = nlohmann::json;

bool is_predicted(const LedgerEntry& entry) { return entry.source == "predicted"; }

std::optional<ForecastRange> range_of(const Json& range, const char* middle) {
  const std::optional<double> value = number_field(range, middle);
  const std::optional<double> low = number_field(range, "low");
  const std::optional<double> high = number_field(range, "high");
  if (!value || !low || !high) return std::nullopt;
  return ForecastRange{*value, *low, *high};
}

// A match with what it came to.
struct Played {
  std::string suite;
  std::string champion;
  std::string challenger;
  std::string pitch;
  Verdict verdict;
};

// Those that were measured, the last stretch of each; what cannot be read measured nothing.
std::vector<Played> played_in(const std::vector<LedgerEntry>& entries) {
  std::vector<Played> all;
  for (const LedgerEntry& entry : entries) {
    if (entry.kind != "match" || entry.source != "measured") continue;
    Played match{.suite = text_field(entry.data, "suite"),
                 .champion = text_field(entry.data, "champion"),
                 .challenger = text_field(entry.data, "challenger"),
                 .pitch = text_field(entry.data, "pitch"),
                 .verdict = {}};
    try {
      match.verdict = field(entry.data, "verdict").get<Verdict>();
    } catch (const std::exception&) {
      continue;
    }
    std::erase_if(all, [&](const Played& one) {
      return one.champion == match.champion && one.challenger == match.challenger &&
             one.suite == match.suite;
    });
    all.push_back(std::move(match));
  }
  return all;
}

ForecastRange ratio_of(const Estimate& estimate) {
  return {estimate.value, estimate.low, estimate.high};
}

void score_speedup(const Json& data, const std::vector<Played>& matches, ScoredForecast& scored) {
  const std::string champion = text_field(data, "champion");
  for (const Played& match : matches) {
    if (match.suite != scored.suite || match.champion != champion ||
        match.challenger != scored.variant) {
      continue;
    }
    scored.verdict = to_string(match.verdict.kind);
    if (match.verdict.estimate) scored.measured = ratio_of(match.verdict.estimate->speedup);
    const Json& forecast = field(data, "forecast");
    if (!scored.predicted) continue;
    const ForecastScore score = score_forecast(forecast.get<Forecast>(), outcome_of(match.verdict));
    if (score.is_resolved()) scored.score = score;
  }
}

// Of a variant in all matches that it was in: the last one holds, its spread over heats is the
// measurement's.
void score_time(const std::vector<Played>& matches, ScoredForecast& scored) {
  for (const Played& match : matches) {
    if (match.suite != scored.suite || !match.verdict.estimate) continue;
    for (const ProblemEstimate& one : match.verdict.estimate->problems) {
      if (one.problem != scored.subject) continue;
      const bool champion = match.champion == scored.variant;
      if (!champion && match.challenger != scored.variant) continue;
      const double us = champion ? one.champion_us : one.challenger_us;
      const double sd = champion ? one.champion_spread : one.challenger_spread;
      if (!(us > 0) || !std::isfinite(us) || !std::isfinite(sd)) continue;
      const double factor = std::exp(referee::kNormalQuantile975 * sd);
      scored.measured = ForecastRange{us, us / factor, us * factor};
      const NormalForecast normal{.mean = std::log(scored.predicted->value),
                                  .sd = std::log(scored.predicted->high / scored.predicted->low) /
                                        (2 * referee::kNormalQuantile90)};
      scored.score = ForecastScore{.crps = crps(normal, std::log(us), sd), .brier = {}};
    }
  }
}

std::optional<ForecastRange> predicted_speedup(const Json& forecast) {
  const std::optional<double> median = number_field(forecast, "log_speedup_median");
  const std::optional<double> low = number_field(forecast, "log_speedup_low");
  const std::optional<double> high = number_field(forecast, "log_speedup_high");
  if (!median || !low || !high || !number_field(forecast, "p_works")) return std::nullopt;
  return ForecastRange{std::exp(*median), std::exp(*low), std::exp(*high)};
}

ScoredForecast scored(const Json& data, const std::vector<Played>& matches) {
  ScoredForecast one{.is_time = text_field(data, "what") == "time",
                     .suite = text_field(data, "suite"),
                     .refused = text_field(data, "refused")};
  if (one.is_time) {
    one.subject = text_field(data, "problem");
    one.variant = text_field(data, "variant");
    one.predicted = range_of(field(data, "us"), "median");
    if (one.predicted && one.predicted->low > 0) score_time(matches, one);
    return one;
  }
  one.subject = text_field(data, "pitch");
  one.variant = text_field(data, "challenger");
  one.claimed = range_of(field(data, "claim"), "value");
  one.predicted = predicted_speedup(field(data, "forecast"));
  one.p_works = number_field(field(data, "forecast"), "p_works");
  if (!one.variant.empty()) score_speedup(data, matches, one);
  return one;
}

// Sealed, and before anything was measured.
std::string fault_of(const std::vector<LedgerEntry>& entries, const LedgerEntry& seal) {
  std::vector<LedgerEntry> forecasts;
  for (const LedgerEntry& entry : entries) {
    if (entry.kind == kForecastKind) forecasts.push_back(entry);
    if (entry.kind == "match" && entry.id < seal.id) {
      return "the forecasts were sealed after a match had been played";
    }
  }
  if (!is_predicted(seal) || !std::all_of(forecasts.begin(), forecasts.end(), is_predicted)) {
    return "a forecast says that it was measured";
  }
  if (seal_of(forecasts) != text_field(seal.data, "hash")) {
    return "the forecasts are not those that were sealed";
  }
  return {};
}

}  // namespace

std::optional<double> ForecastScores::mean_loss() const {
  double sum = 0;
  double count = 0;
  for (const ScoredForecast& one : forecasts) {
    if (one.score) sum += one.score->loss(), ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

std::optional<ForecastScores> score_forecasts(const std::vector<LedgerEntry>& entries) {
  const auto seal = std::find_if(entries.begin(), entries.end(), [](const LedgerEntry& entry) {
    return entry.kind == kForecastsKind;
  });
  if (seal == entries.end()) return std::nullopt;
  ForecastScores scores{.device = text_field(seal->data, "device"),
                        .sealed_utc = text_field(seal->data, "sealed_utc"),
                        .hash = text_field(seal->data, "hash"),
                        .fault = fault_of(entries, *seal),
                        .forecasts = {}};
  const std::vector<Played> matches =
      scores.fault.empty() ? played_in(entries) : std::vector<Played>();
  for (const LedgerEntry& entry : entries) {
    if (entry.kind == kForecastKind) scores.forecasts.push_back(scored(entry.data, matches));
  }
  return scores;
}

}  // namespace thresher
