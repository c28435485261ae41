// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "report/sections.hpp"
#include "report/values.hpp"

namespace thresher::report {
namespace {

using Json = nlohmann::json;

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
