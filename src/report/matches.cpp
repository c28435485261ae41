// SPDX-License-Identifier: Apache-2.0
// Each match: the speedup of every problem with its interval and the lines of the deal terms, the
// instrument's own controls, every heat, every sample.
#include <fmt/format.h>

#include "report/result.hpp"
#include "report/samples.hpp"
#include "report/sections.hpp"
#include "report/values.hpp"

namespace thresher::report {
namespace {

using Json = nlohmann::json;

// What the intervals are compared with. A problem may be slower by the ratio regression_max.
Json term_lines(const Season& season) {
  Json lines = Json::array({{{"label", "equal"}, {"at", 1}}});
  const Json& terms = season.start() ? field(season.start()->data, "terms") : Json();
  if (const auto asked = number_of(field(terms, "speedup_min"))) {
    lines.push_back({{"label", "geomean asked for"}, {"at", *asked}});
  }
  if (const auto allowed = number_of(field(terms, "regression_max"))) {
    lines.push_back({{"label", "slowest allowed"}, {"at", 1 / (1 + *allowed)}});
  }
  return lines;
}

HtmlTable estimate_table(const Json& estimate) {
  HtmlTable table("Speedup of each problem", {{"Problem"},
                                              {"Speedup, 95 % interval", true},
                                              {"At least", true},
                                              {"Champion (µs)", true},
                                              {"Challenger (µs)", true},
                                              {"Champion spread", true},
                                              {"Challenger spread", true}});
  for (const Json& problem : field(estimate, "problems")) {
    table.add_row(
        {text_of(problem, "problem"), speedup(ratio_of(field(problem, "speedup"))),
         speedup(number_of(field(problem, "lower_bound"))),
         number(field(problem, "champion_us"), 2), number(field(problem, "challenger_us"), 2),
         percent(field(problem, "champion_spread")), percent(field(problem, "challenger_spread"))});
  }
  table.add_row({element("strong", "geomean"), speedup(ratio_of(field(estimate, "speedup"))),
                 speedup(number_of(field(estimate, "lower_bound"))), "", "", "", ""});
  return table;
}

Json forest_row(const std::string& label, const Json& estimate, const char* role) {
  return {{"label", label},
          {"value", field(estimate, "value")},
          {"low", field(estimate, "low")},
          {"high", field(estimate, "high")},
          {"role", role}};
}

Json forest_chart(const Season& season, const Json& estimate) {
  Json rows = Json::array();
  for (const Json& problem : field(estimate, "problems")) {
    rows.push_back(forest_row(text_of(problem, "problem"), field(problem, "speedup"), "problem"));
  }
  rows.push_back(forest_row("geomean", field(estimate, "speedup"), "geomean"));
  return {{"type", "forest"}, {"rows", std::move(rows)}, {"lines", term_lines(season)}};
}

HtmlTable control_table(const Json& controls) {
  HtmlTable table("The instrument's own checks in this match",
                  {{"Control"}, {"Found, 99 % interval", true}, {"Truth", true}});
  if (controls.is_null()) return table;
  table.add_row({"champion against its own copy", speedup(ratio_of(field(controls, "same"))),
                 speedup(std::optional<double>(1))});
  table.add_row({"champion with a known delay", speedup(ratio_of(field(controls, "slowed"))),
                 speedup(number_of(field(controls, "slowed_truth")))});
  return table;
}

void add_estimate(Page& page, const Season& season, const Json& estimate) {
  const Json& controls = field(estimate, "controls");
  page.add_chart(forest_chart(season, estimate),
                 "Speedup of each problem with its interval, and the lines of the deal terms");
  page.add_table(estimate_table(estimate));
  page.add_table(control_table(controls));
  Html line = number(field(estimate, "round_count"), 0) +
              " heats (fresh processes each); these find a gain of " +
              percent(field(estimate, "minimum_detectable_effect")) + " with 90 % power.";
  if (field(controls, "ok") == false) {
    line += " " + badge("controls failed", "bad") + " " + text_of(controls, "why_not");
  }
  page.add_paragraph(line);
}

void add_match(Page& page, const Season& season, const LedgerEntry& match) {
  const Json& data = match.data;
  const Json& verdict = field(data, "verdict");
  page.add_heading(4,
                   fmt::format("Round {}: ", round_of(match)) + Html(text_of(data, "challenger")) +
                       " against " + text_of(data, "champion") + " " +
                       verdict_badge(text_of(verdict, "kind")) + " " + source_badge(match.source));
  page.add_paragraph(text_of(verdict, "reason"));
  if (field(verdict, "estimate").is_object()) {
    add_estimate(page, season, field(verdict, "estimate"));
  } else {
    page.add_paragraph(
        fmt::format("It never came to a time; check: {}.", text_of(verdict, "check")));
  }
  add_samples(page, match);
  page.add(element("p",
                   fmt::format("Pitch {}, ledger entry {}, suite {}, seed {}, {} s.",
                               text_of(data, "pitch"), match.id, text_of(data, "suite"),
                               text_of(data, "seed"), text_of(data, "seconds")),
                   {{"class", "note"}}));
}

}  // namespace

void add_matches(Page& page, const Season& season) {
  page.add_heading(3, "Matches");
  const std::vector<const LedgerEntry*> matches = season.of_kind("match");
  if (matches.empty()) page.add_paragraph("No match was measured.");
  for (const LedgerEntry* match : matches) add_match(page, season, *match);
}

}  // namespace thresher::report
