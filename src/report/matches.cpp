// SPDX-License-Identifier: Apache-2.0
// Each match: the speedup of every problem with its interval and the lines of the deal terms, the
// instrument's own controls, the ratio of every heat, and every timed call.
#include <fmt/format.h>

#include <cmath>

#include "referee/statistics/heat_values.hpp"
#include "referee/statistics/json.hpp"
#include "report/season.hpp"
#include "report/values.hpp"
#include "thresher/error.hpp"

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

// Heats are numbered as in heat_values(): complete ones only, from 1.
void add_trace(Page& page, const MatchSamples& samples) {
  const referee::HeatValues values = referee::heat_values(samples);
  if (values.heat_count == 0) return;
  std::vector<HtmlColumn> columns{{"Heat", true}};
  Json groups = Json::array();
  for (std::size_t i = 0; i < samples.problems.size(); ++i) {
    columns.push_back({samples.problems[i], true});
    groups.push_back({{"label", samples.problems[i]}, {"values", Json::array()}});
  }
  HtmlTable table("Speedup found by each heat", columns);
  Json heats = Json::array();
  for (int heat = 0; heat < values.heat_count; ++heat) {
    std::vector<Html> cells{fmt::format("{}", heat + 1)};
    heats.push_back(heat + 1);
    for (std::size_t i = 0; i < samples.problems.size(); ++i) {
      const double ratio = std::exp(values.problems[i].log_ratio[static_cast<std::size_t>(heat)]);
      cells.push_back(speedup(std::optional(ratio)));
      groups[i]["values"].push_back(ratio);
    }
    table.add_row(cells);
  }
  page.add_chart({{"type", "lines"},
                  {"x", std::move(heats)},
                  {"x_title", "heat"},
                  {"y_title", "speedup"},
                  {"groups", std::move(groups)}},
                 "Speedup of each problem in each heat");
  page.add_table(table);
}

struct Times {
  std::vector<std::string> order;  // ABBA or BAAB
  std::vector<double> a_ns;
  std::vector<double> b_ns;
};

void add_times(HtmlTable& table, const std::vector<std::string>& first_cells,
               const std::vector<std::string>& problems, const std::vector<Block>& blocks) {
  std::vector<Times> by_problem(problems.size());
  for (const Block& block : blocks) {
    Times& times = by_problem[static_cast<std::size_t>(block.problem_index)];
    times.order.push_back(block.first_arm_a ? "ABBA" : "BAAB");
    times.a_ns.insert(times.a_ns.end(), std::begin(block.a_ns), std::end(block.a_ns));
    times.b_ns.insert(times.b_ns.end(), std::begin(block.b_ns), std::end(block.b_ns));
  }
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (by_problem[i].order.empty()) continue;
    std::vector<Html> cells(first_cells.begin(), first_cells.end());
    cells.insert(cells.end(), {problems[i], fmt::format("{}", fmt::join(by_problem[i].order, " ")),
                               fmt::format("{}", fmt::join(by_problem[i].a_ns, " ")),
                               fmt::format("{}", fmt::join(by_problem[i].b_ns, " "))});
    table.add_row(cells);
  }
}

HtmlTable sample_table(const MatchSamples& samples) {
  HtmlTable table(
      "Every timed call, in nanoseconds. A is the champion; B the challenger, the "
      "champion's copy (same) or the delayed champion (slowed)",
      {{"Heat", true},
       {"Series"},
       {"Problem"},
       {"Order", false, true},
       {"A (ns)", false, true},
       {"B (ns)", false, true}});
  for (std::size_t i = 0; i < samples.heats.size(); ++i) {
    const HeatSamples& heat = samples.heats[i];
    const std::string number = fmt::format("{}", i + 1);
    add_times(table, {number, "match"}, samples.problems, heat.match);
    add_times(table, {number, "same"}, samples.problems, heat.same);
    add_times(table, {number, "slowed"}, samples.problems, heat.slowed);
  }
  return table;
}

// Of a `match` entry. Adds nothing where it has no rounds; samples that cannot be read are said to
// be so on the page.
void add_samples(Page& page, const LedgerEntry& match) {
  if (!field(field(match.data, "samples"), "rounds").is_array()) return;
  try {
    const auto samples = match.data.at("samples").get<MatchSamples>();
    if (samples.heats.empty()) return;
    add_trace(page, samples);
    page.add_details("Raw samples", sample_table(samples).html());
  } catch (const Error& error) {
    page.add_paragraph(badge("samples unreadable", "bad") + " " + error.what());
  }
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
  page.add_note(fmt::format("Pitch {}, ledger entry {}, suite {}, seed {}, {} s.",
                            text_of(data, "pitch"), match.id, text_of(data, "suite"),
                            text_of(data, "seed"), text_of(data, "seconds")));
}

}  // namespace

void add_matches(Page& page, const Season& season) {
  page.add_heading(3, "Matches");
  const std::vector<const LedgerEntry*> matches = season.of_kind("match");
  if (matches.empty()) page.add_paragraph("No match was measured.");
  for (const LedgerEntry* match : matches) add_match(page, season, *match);
}

}  // namespace thresher::report
