// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "report/season.hpp"

namespace thresher::report {
namespace {

Html shown(const ScoredForecast& one, double value) {
  return one.is_time ? number(std::optional(value), 1) : speedup(value, 2);
}

// Brackets are a measurement's alone.
Html interval_of(const Html& text) { return element("span", text, {{"class", "interval"}}); }

Html predicted_cell(const ScoredForecast& one) {
  if (!one.predicted) return "none: " + one.refused;
  const ForecastRange& range = *one.predicted;
  return shown(one, range.value) + " " +
         interval_of("(" + shown(one, range.low) + " to " + shown(one, range.high) + ")");
}

Html measured_cell(const ScoredForecast& one) {
  if (!one.measured) return one.verdict.empty() ? "by nobody" : one.verdict;
  const ForecastRange& range = *one.measured;
  return shown(one, range.value) + " " +
         interval_of("[" + shown(one, range.low) + ", " + shown(one, range.high) + "]");
}

Html loss_cell(const ScoredForecast& one) {
  return one.score ? number(std::optional(one.score->loss()), 2) : Html();
}

HtmlTable table_of(const ForecastScores& scores, bool times) {
  HtmlTable table(times ? "Microseconds of a call" : "Over the variant that a season begins with",
                  {{"Suite", false},
                   {times ? "Problem" : "Pitch", false},
                   {"Variant", false},
                   {"Predicted, 80 %", true},
                   {"Measured, 95 %", true},
                   {"Loss", true}});
  for (const ScoredForecast& one : scores.forecasts) {
    if (one.is_time != times) continue;
    table.add_row({one.suite, one.subject, one.variant, predicted_cell(one), measured_cell(one),
                   loss_cell(one)});
  }
  return table;
}

Html summary(const ForecastScores& scores) {
  if (!scores.fault.empty()) return "Nothing is scored: " + scores.fault + ".";
  const std::optional<double> loss = scores.mean_loss();
  if (!loss) return "Nobody has measured any of it yet.";
  return "Mean loss of what was measured: " + number(loss, 2) + "; 0 is perfect, 1 the worst.";
}

}  // namespace

Html forecasts(const Season& season) {
  if (!season.board.forecasts) return {};
  const ForecastScores& scores = *season.board.forecasts;
  return fold(fmt::format("What was foretold of a {}", scores.device),
              paragraph(source_badge("predicted") + " by the model of time from published " +
                        "numbers, and sealed " + scores.sealed_utc + " with the hash " +
                        element("code", scores.hash) + ", before this season. " + summary(scores)) +
                  table_of(scores, true).html() + table_of(scores, false).html());
}

}  // namespace thresher::report
