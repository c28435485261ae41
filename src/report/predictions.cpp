// SPDX-License-Identifier: Apache-2.0
// Predicted against measured: the claim of every pitch, and every shark's forecast of it.
#include <fmt/format.h>

#include <map>

#include "report/season.hpp"
#include "report/values.hpp"

namespace thresher::report {
namespace {

using Json = nlohmann::json;

struct Prediction {
  int round = 0;
  std::string pitch;
  std::string by;
  Ratio predicted;
  const LedgerEntry* entry = nullptr;    // the pitch or the ballot
  const LedgerEntry* verdict = nullptr;  // null: not built in that round
};

constexpr const char* kClaim = "the pitch itself";

// A pitch claims once; what it claimed stands against every verdict on it.
void collect_claims(std::vector<Prediction>& out, const Season& season) {
  for (const LedgerEntry* pitch : season.of_kind("pitch")) {
    const Prediction claim{.round = round_of(*pitch),
                           .pitch = text_of(pitch->data, "name"),
                           .by = kClaim,
                           .predicted = ratio_of(field(pitch->data, "claim")),
                           .entry = pitch};
    bool was_built = false;
    for (const LedgerEntry* verdict : season.of_kind("verdict")) {
      if (text_of(verdict->data, "pitch") != claim.pitch) continue;
      was_built = true;
      out.push_back(claim);
      out.back().round = round_of(*verdict);
      out.back().verdict = verdict;
    }
    if (!was_built) out.push_back(claim);
  }
}

void collect_forecasts(std::vector<Prediction>& out, const Season& season) {
  for (const LedgerEntry* ballot : season.of_kind("ballot")) {
    const std::string pitch = text_of(ballot->data, "pitch");
    out.push_back({.round = round_of(*ballot),
                   .pitch = pitch,
                   .by = text_of(ballot->data, "shark"),
                   .predicted = ratio_of_forecast(field(ballot->data, "forecast")),
                   .entry = ballot,
                   .verdict = season.verdict(round_of(*ballot), pitch)});
  }
}

Ratio result_ratio(const Prediction& prediction) {
  return prediction.verdict ? ratio_of(field(prediction.verdict->data, "speedup")) : Ratio();
}

// How many times too high; below 1 too low.
Html off_by(const Prediction& prediction) {
  const std::optional<double> predicted = prediction.predicted.middle();
  const std::optional<double> result = result_ratio(prediction).middle();
  if (!predicted || !result || !(*result > 0)) return {};
  return speedup(*predicted / *result);
}

HtmlTable prediction_table(const std::vector<Prediction>& predictions) {
  HtmlTable table("Predictions: claims and forecasts, and what came of them",
                  {{"Round", true},
                   {"Pitch"},
                   {"By"},
                   {"Predicted", true},
                   {"P(works)", true},
                   {"Score", true},
                   {"Vote"},
                   {"Result", true},
                   {"Predicted / result", true},
                   {"Source"},
                   {"Reason", false, true}});
  for (const Prediction& one : predictions) {
    const Json& data = one.entry->data;
    table.add_row({one.round > 0 ? fmt::format("{}", one.round) : "", one.pitch, one.by,
                   speedup(one.predicted), number(field(field(data, "forecast"), "p_works"), 2),
                   number(field(data, "score"), 2), field(data, "vote") == true ? "yes" : "",
                   result_of(one.verdict), off_by(one), source_badge(one.entry->source),
                   text_of(data, "reason")});
  }
  return table;
}

// One group of points for each who predicted, and another for reported results.
Json prediction_chart(const std::vector<Prediction>& predictions) {
  std::map<std::pair<std::string, bool>, Json> points;
  for (const Prediction& one : predictions) {
    const std::optional<double> predicted = one.predicted.middle();
    const Ratio result = result_ratio(one);
    if (!predicted || !result.middle()) continue;
    // An axis of logarithms has no place for these.
    if (!(*predicted > 0) || !(*result.middle() > 0)) continue;
    const bool is_reported = !is_measured(*one.verdict);
    points[{one.by, is_reported}].push_back(
        {{"x", *predicted},
         {"y", *result.middle()},
         {"low", result.low && !is_reported ? Json(*result.low) : Json()},
         {"high", result.high && !is_reported ? Json(*result.high) : Json()},
         {"label", fmt::format("round {}: {}", one.round, one.pitch)}});
  }
  Json groups = Json::array();
  for (auto& [key, list] : points) {
    const auto& [by, is_reported] = key;
    groups.push_back({{"label", is_reported ? by + " (reported)" : by},
                      {"reported", is_reported},
                      {"points", std::move(list)}});
  }
  return {{"type", "predictions"}, {"groups", std::move(groups)}};
}

void add_pitches(Page& page, const Season& season) {
  HtmlTable table("Pitches as they entered", {{"Pitch"},
                                              {"Title"},
                                              {"Author"},
                                              {"Family"},
                                              {"Claim", true},
                                              {"Source"},
                                              {"Mechanism", false, true},
                                              {"Bottleneck", false, true},
                                              {"Evidence", false, true},
                                              {"Risk", false, true},
                                              {"Rollback", false, true}});
  for (const LedgerEntry* pitch : season.of_kind("pitch")) {
    const Json& data = pitch->data;
    table.add_row({text_of(data, "name"), text_of(data, "title"), text_of(data, "author"),
                   text_of(data, "family"), speedup(ratio_of(field(data, "claim"))),
                   source_badge(pitch->source), text_of(data, "mechanism"),
                   text_of(data, "bottleneck"), text_of(data, "evidence"), text_of(data, "risk"),
                   text_of(data, "rollback")});
  }
  if (!table.is_empty()) page.add_details("The pitches in full", table.html());
}

}  // namespace

void add_predictions(Page& page, const Season& season) {
  std::vector<Prediction> predictions;
  collect_claims(predictions, season);
  collect_forecasts(predictions, season);
  page.add_heading(3, "Predicted against measured");
  Json chart = prediction_chart(predictions);
  if (!chart["groups"].empty()) {
    page.add_chart(std::move(chart),
                   "Predicted speedups against results; on the diagonal the prediction was right");
  }
  page.add_table(prediction_table(predictions), "Nobody has predicted anything.");
  add_pitches(page, season);
}

}  // namespace thresher::report
