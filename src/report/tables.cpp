// SPDX-License-Identifier: Apache-2.0
// Sections that show entries as they stand: constraints and vetoes, what others reported, and what
// the season was played on.
#include <fmt/format.h>

#include <vector>

#include "report/season.hpp"
#include "report/values.hpp"

namespace thresher::report {
namespace {

using Json = nlohmann::json;

HtmlTable constraint_table(const Season& season) {
  HtmlTable table("Constraints learned or imported", {{"Constraint"},
                                                      {"Kind"},
                                                      {"Claim", false, true},
                                                      {"Vetoes", false, true},
                                                      {"Origin", false, true},
                                                      {"Expires"},
                                                      {"Source"}});
  for (const LedgerEntry* entry : season.of_kind("constraint")) {
    const Json& data = entry->data;
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
    const Json& data = entry->data;
    table.add_row({round_cell(*entry), text_of(data, "pitch"), text_of(data, "constraint"),
                   source_badge(entry->source), text_of(data, "reason")});
  }
  return table;
}

HtmlTable research_table(const Season& season) {
  HtmlTable table("Research rounds: where the champion's time goes",
                  {{"Round", true}, {"Source"}, {"Finding", false, true}});
  for (const LedgerEntry* entry : season.of_kind("research")) {
    for (const Json& finding : field(entry->data, "findings")) {
      table.add_row({round_cell(*entry), source_badge(entry->source), text_of(finding)});
    }
  }
  return table;
}

// "7 × 0.40 + 9 × 0.25", in the order of names.
std::string sum_of(const Json& data) {
  std::vector<std::string> terms;
  for (const auto& item : field(data, "scores").items()) {
    const Json& weight = field(field(data, "weights"), item.key().c_str());
    terms.push_back(fmt::format("{} {} × {}", item.key(), text_of(item.value()), text_of(weight)));
  }
  return fmt::format("{}", fmt::join(terms, " + "));
}

HtmlTable sheet_table(const Season& season) {
  HtmlTable table("Score sheets, added up again", {{"Round", true},
                                                   {"Shark"},
                                                   {"Pitch"},
                                                   {"Scores", false, true},
                                                   {"On the sheet", true},
                                                   {"Recomputed", true},
                                                   {"Sum"},
                                                   {"Source"}});
  for (const LedgerEntry* entry : season.of_kind("sheet")) {
    const Json& data = entry->data;
    const bool is_wrong = field(data, "wrong") == true;
    table.add_row(
        {round_cell(*entry), text_of(data, "shark"), text_of(data, "pitch"), sum_of(data),
         number(field(data, "total_on_sheet"), 2), number(field(data, "total_recomputed"), 2),
         is_wrong ? badge("wrong", "bad") : badge("right", "good"), source_badge(entry->source)});
  }
  return table;
}

HtmlTable time_table(const Season& season) {
  HtmlTable table("Times as reported",
                  {{"Round", true}, {"What"}, {"Problem"}, {"Time (µs)", true}, {"Source"}});
  for (const LedgerEntry* entry : season.of_kind("time")) {
    const Json& data = entry->data;
    table.add_row({round_cell(*entry), text_of(data, "what"), text_of(data, "problem"),
                   number(field(data, "microseconds"), 1), source_badge(entry->source)});
  }
  return table;
}

constexpr int kDepthMax = 8;  // of nested objects; deeper ones stay JSON

// One row per value, nested names joined by dots: "rates.read_gb_per_s".
void add_values(HtmlTable& table, const std::string& name, const Json& value, int depth = 0) {
  if (!value.is_object() || value.empty() || depth == kDepthMax) {
    table.add_row({name, value.is_number()
                             ? element("data", text_of(value), {{"value", text_of(value)}})
                             : Html(text_of(value))});
    return;
  }
  for (const auto& item : value.items()) {
    add_values(table, fmt::format("{}.{}", name, item.key()), item.value(), depth + 1);
  }
}

}  // namespace

void add_constraints(Page& page, const Season& season) {
  page.add_heading(3, "Constraints and vetoes");
  page.add_table(veto_table(season), "No pitch was vetoed.");
  page.add_table(constraint_table(season), "No constraint was learned.");
  page.add_table(research_table(season));
}

void add_documents(Page& page, const Season& season) {
  const HtmlTable sheets = sheet_table(season);
  const HtmlTable times = time_table(season);
  if (sheets.is_empty() && times.is_empty()) return;
  page.add_heading(3, "What was reported");
  page.add_table(sheets);
  page.add_table(times);
}

void add_environment(Page& page, const Season& season) {
  page.add_heading(3, "Environment");
  HtmlTable table("The season's machine, rules and terms", {{"Name"}, {"Value", false, true}});
  const LedgerEntry* start = season.start();
  if (start != nullptr) {
    table.add_row({"started (UTC)", start->time_utc});
    table.add_row({"source", source_badge(start->source)});
    for (const char* name : {"suite", "backend", "threads", "seed", "champion", "champion_hash",
                             "terms", "rubric", "environment"}) {
      if (!field(start->data, name).is_null()) add_values(table, name, field(start->data, name));
    }
  }
  page.add_table(table, "The ledger does not say how this season started.");
}

}  // namespace thresher::report
