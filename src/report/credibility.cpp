// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "report/season.hpp"
#include "report/values.hpp"

namespace thresher::report {
namespace {

using Json = nlohmann::json;

std::vector<std::string> sharks_of(const std::vector<const LedgerEntry*>& entries) {
  std::set<std::string> names;
  for (const LedgerEntry* entry : entries) {
    for (const auto& item : field(entry->data, "weights").items()) names.insert(item.key());
  }
  return {names.begin(), names.end()};
}

HtmlTable weight_table(const std::vector<const LedgerEntry*>& entries) {
  HtmlTable table("Credibility after each round, and the scores behind it",
                  {{"Round", true},
                   {"Shark"},
                   {"Credibility", true},
                   {"CRPS", true},
                   {"Brier score", true},
                   {"Effective judges", true},
                   {"Source"}});
  for (const LedgerEntry* entry : entries) {
    for (const auto& item : field(entry->data, "weights").items()) {
      const Json& score = field(field(entry->data, "scores"), item.key().c_str());
      table.add_row({round_cell(*entry), item.key(), number(item.value(), 3),
                     number(field(score, "crps"), 3), number(field(score, "brier"), 3),
                     number(field(entry->data, "effective_judges"), 2),
                     source_badge(entry->source)});
    }
  }
  return table;
}

Json weight_chart(const std::vector<const LedgerEntry*>& entries) {
  Json rounds = Json::array();
  for (const LedgerEntry* entry : entries) rounds.push_back(round_of(*entry));
  Json groups = Json::array();
  for (const std::string& shark : sharks_of(entries)) {
    Json values = Json::array();
    for (const LedgerEntry* entry : entries) {
      values.push_back(field(field(entry->data, "weights"), shark.c_str()));
    }
    groups.push_back({{"label", shark}, {"values", std::move(values)}});
  }
  return {{"type", "lines"},          {"x", std::move(rounds)}, {"x_title", "round"},
          {"y_title", "credibility"}, {"from_zero", true},      {"groups", std::move(groups)}};
}

}  // namespace

void add_credibility(Page& page, const Season& season) {
  const std::vector<const LedgerEntry*> entries = season.of_kind("credibility");
  if (entries.empty()) return;
  page.add_heading(3, "Credibility");
  page.add_chart(weight_chart(entries), "Credibility of each shark after each round");
  page.add_table(weight_table(entries));
  page.add_note(
      "What a shark's vote weighs. Both scores are better when lower: CRPS for the "
      "forecast of the speedup, Brier for the chance that it works.");
}

}  // namespace thresher::report
