// SPDX-License-Identifier: Apache-2.0
// The panel: what each shark's word weighs, and every ballot beside what came of it.
#include <fmt/format.h>

#include <map>
#include <set>

#include "report/season.hpp"

namespace thresher::report {
namespace {

using Json = nlohmann::json;

std::vector<std::string> sharks_of(const Season& season) {
  std::set<std::string> names;
  for (const LedgerEntry* ballot : season.of_kind("ballot")) {
    names.insert(text_of(ballot->data, "shark"));
  }
  for (const CredibilityRow& row : season.board.credibilities) {
    for (const auto& [shark, weight] : row.weights) names.insert(shark);
  }
  names.erase("");
  return {names.begin(), names.end()};
}

// The last scores that the ledger has of a shark.
const Json& last_scores(const Season& season, const std::string& shark) {
  static const Json none;
  const Json* last = &none;
  for (const LedgerEntry* entry : season.of_kind("credibility")) {
    const Json& scores = field(field(entry->data, "scores"), shark.c_str());
    if (scores.is_object()) last = &scores;
  }
  return *last;
}

Html history(const Season& season, const std::string& shark) {
  Html cells;
  for (const CredibilityRow& row : season.board.credibilities) {
    const auto weight = row.weights.find(shark);
    if (weight != row.weights.end()) cells += percent(Json(weight->second)) + " ";
  }
  return cells;
}

HtmlTable credibility_table(const Season& season) {
  HtmlTable table(
      "Credibility, round after round, and the scores behind it",
      {{"Shark", false, "name"}, {"Credibility"}, {"CRPS", true}, {"Brier score", true}});
  for (const std::string& shark : sharks_of(season)) {
    const Html weights = history(season, shark);
    const Json& scores = last_scores(season, shark);
    if (weights.is_empty()) continue;
    table.add_row(
        {shark, weights, number(field(scores, "crps"), 3), number(field(scores, "brier"), 3)});
  }
  return table;
}

Html credibility_note(const Season& season) {
  if (season.board.credibilities.empty()) return {};
  Html text =
      "Credibility is what a shark’s vote weighs. Both scores are better when lower: CRPS for the "
      "forecast of the speedup, Brier for the chance that it works.";
  if (const auto judges = season.board.credibilities.back().effective_judges) {
    text += " The panel counts as " + number(judges, 2) + " independent judges.";
  }
  if (season.board.reported && season.of_kind("credibility").empty()) {
    text += " Nobody kept credibilities then: these are replayed under our rules.";
  }
  return note(text);
}

// How many times too high; below 1 too low.
Html off_by(const Ratio& forecast, const LedgerEntry* verdict) {
  const std::optional<double> predicted = forecast.middle();
  const std::optional<double> result =
      verdict ? ratio_of(field(verdict->data, "speedup")).middle() : std::nullopt;
  if (!predicted || !result || !(*result > 0)) return {};
  return small(speedup(*predicted / *result, 2) + " the result");
}

Html result_line(const LedgerEntry* verdict) {
  return verdict == nullptr ? Html("not built") : result_of(verdict);
}

HtmlTable ballot_table(const Season& season, const std::string& shark) {
  HtmlTable table("Ballots", {{"Round", true},
                              {"Pitch", false, "name"},
                              {"Forecast", true},
                              {"P(works)", true},
                              {"Score", true},
                              {"Result", true},
                              {"Reason"}});
  for (const LedgerEntry* ballot : season.of_kind("ballot")) {
    const Json& data = ballot->data;
    if (text_of(data, "shark") != shark) continue;
    const std::string pitch = text_of(data, "pitch");
    const Ratio forecast = ratio_of_forecast(field(data, "forecast"));
    const LedgerEntry* verdict = season.verdict(round_of(*ballot), pitch);
    Html name = pitch;
    if (field(data, "vote") == true) name += " " + badge("vote", "plain");
    if (!is_measured(*ballot)) name += " " + source_badge(ballot->source);
    table.add_row({round_cell(*ballot), name, expected(forecast) + off_by(forecast, verdict),
                   number(field(field(data, "forecast"), "p_works"), 2),
                   number(field(data, "score"), 2), result_line(verdict), text_of(data, "reason")});
  }
  return table;
}

}  // namespace

Html sharks(const Season& season) {
  const std::vector<std::string> names = sharks_of(season);
  Html content = credibility_table(season).html() + credibility_note(season);
  for (const std::string& shark : names) {
    content += fold("Ballots of " + element("strong", shark), ballot_table(season, shark).html());
  }
  return fold(fmt::format("Sharks and their forecasts ({})", names.size()), content);
}

}  // namespace thresher::report
