// SPDX-License-Identifier: Apache-2.0
// Parts that show entries as they stand: constraints, what others reported, and what the season was
// played on.
#include <fmt/format.h>

#include <vector>

#include "report/season.hpp"
#include "report/values.hpp"

namespace thresher::report {
namespace {

using Json = nlohmann::json;

Html constraint_html(const LedgerEntry& entry) {
  const Json& data = entry.data;
  HtmlFacts facts;
  facts.add("Claim", text_of(data, "claim"));
  facts.add("Kind", text_of(data, "kind"));
  facts.add("Vetoes", text_of(data, "predicate"));
  facts.add("Origin", text_of(data, "origin"));
  facts.add("Expires", text_of(data, "expires"));
  facts.add("Source", source_badge(entry.source));
  return fold(element("strong", text_of(data, "id")), facts.html());
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
                                                   {"Scores"},
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

Html constraints(const Season& season) {
  const std::vector<const LedgerEntry*> entries = season.of_kind("constraint");
  Html content;
  for (const LedgerEntry* entry : entries) content += constraint_html(*entry);
  return fold(fmt::format("Constraints that were learned ({})", entries.size()), content);
}

Html documents(const Season& season) {
  return fold("What was reported: score sheets and times",
              sheet_table(season).html() + time_table(season).html());
}

Html environment(const Season& season) {
  HtmlTable table("The season’s machine, rules and terms", {{"Name"}, {"Value"}});
  const LedgerEntry* start = season.start();
  if (start == nullptr) return note("The ledger does not say how this season started.");
  table.add_row({"started (UTC)", start->time_utc});
  table.add_row({"source", source_badge(start->source)});
  for (const char* name : {"suite", "backend", "threads", "seed", "champion", "champion_hash",
                           "terms", "rubric", "environment"}) {
    if (!field(start->data, name).is_null()) add_values(table, name, field(start->data, name));
  }
  return fold("Machine, rules and terms", table.html());
}

}  // namespace thresher::report
