// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "report/sections.hpp"
#include "report/values.hpp"

namespace thresher::report {
namespace {

HtmlTable constraint_table(const Season& season) {
  HtmlTable table("Constraints learned or imported", {{"Constraint"},
                                                      {"Kind"},
                                                      {"Claim", false, true},
                                                      {"Vetoes", false, true},
                                                      {"Origin", false, true},
                                                      {"Expires"},
                                                      {"Source"}});
  for (const LedgerEntry* entry : season.of_kind("constraint")) {
    const nlohmann::json& data = entry->data;
    table.add_row({text_of(data, "id"), text_of(data, "kind"), text_of(data, "claim"),
                   text_of(data, "predicate"), text_of(data, "origin"), text_of(data, "expires"),
                   source_badge(entry->source)});
  }
  return table;
}

HtmlTable veto_table(const Season& season) {
  HtmlTable table(
      "Pitches that were vetoed",
      {{"Round", true}, {"Pitch"}, {"Constraint"}, {"Source"}, {"Reason", false, true}});
  for (const LedgerEntry* entry : season.of_kind("veto")) {
    const nlohmann::json& data = entry->data;
    table.add_row({fmt::format("{}", round_of(*entry)), text_of(data, "pitch"),
                   text_of(data, "constraint"), source_badge(entry->source),
                   text_of(data, "reason")});
  }
  return table;
}

HtmlTable research_table(const Season& season) {
  HtmlTable table("Research rounds: where the champion's time goes",
                  {{"Round", true}, {"Source"}, {"Finding", false, true}});
  for (const LedgerEntry* entry : season.of_kind("research")) {
    for (const nlohmann::json& finding : field(entry->data, "findings")) {
      table.add_row(
          {fmt::format("{}", round_of(*entry)), source_badge(entry->source), text_of(finding)});
    }
  }
  return table;
}

}  // namespace

void add_constraints(Page& page, const Season& season) {
  page.add_heading(3, "Constraints and vetoes");
  page.add_table(veto_table(season), "No pitch was vetoed.");
  page.add_table(constraint_table(season), "No constraint was learned.");
  page.add_table(research_table(season));
}

}  // namespace thresher::report
