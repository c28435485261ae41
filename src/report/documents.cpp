// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <vector>

#include "report/sections.hpp"
#include "report/values.hpp"

namespace thresher::report {
namespace {

using Json = nlohmann::json;

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
    table.add_row({fmt::format("{}", round_of(*entry)), text_of(data, "shark"),
                   text_of(data, "pitch"), sum_of(data), number(field(data, "total_on_sheet"), 2),
                   number(field(data, "total_recomputed"), 2),
                   is_wrong ? badge("wrong", "bad") : badge("right", "good"),
                   source_badge(entry->source)});
  }
  return table;
}

HtmlTable time_table(const Season& season) {
  HtmlTable table("Times as reported",
                  {{"Round", true}, {"What"}, {"Problem"}, {"Time (µs)", true}, {"Source"}});
  for (const LedgerEntry* entry : season.of_kind("time")) {
    const Json& data = entry->data;
    table.add_row({fmt::format("{}", round_of(*entry)), text_of(data, "what"),
                   text_of(data, "problem"), number(field(data, "microseconds"), 1),
                   source_badge(entry->source)});
  }
  return table;
}

}  // namespace

void add_documents(Page& page, const Season& season) {
  const HtmlTable sheets = sheet_table(season);
  const HtmlTable times = time_table(season);
  if (sheets.is_empty() && times.is_empty()) return;
  page.add_heading(3, "What was reported");
  page.add_table(sheets);
  page.add_table(times);
}

}  // namespace thresher::report
