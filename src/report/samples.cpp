// SPDX-License-Identifier: Apache-2.0
#include "report/samples.hpp"

#include <fmt/format.h>

#include <cmath>

#include "referee/statistics/heat_values.hpp"
#include "referee/statistics/json.hpp"
#include "report/values.hpp"
#include "thresher/error.hpp"

namespace thresher::report {
namespace {

using Json = nlohmann::json;

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

}  // namespace

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

}  // namespace thresher::report
