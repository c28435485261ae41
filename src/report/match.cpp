// SPDX-License-Identifier: Apache-2.0
// A match: the speedup of every problem with its interval and the lines of the deal terms, the
// instrument's own controls, every heat, and every timed call.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "referee/statistics/heat_values.hpp"
#include "referee/statistics/json.hpp"
#include "report/plot.hpp"
#include "report/season.hpp"
#include "report/variant_words.hpp"
#include "thresher/error.hpp"

namespace thresher::report {
namespace {

using Json = nlohmann::json;

// What the intervals are compared with. A problem may be slower by the ratio regression_max.
std::vector<PlotLine> term_lines(const Season& season) {
  std::vector<PlotLine> lines{{1, "equal", "one"}};
  const Json& terms = season.start() ? field(season.start()->data, "terms") : Json();
  if (const auto asked = number_of(field(terms, "speedup_min"))) {
    lines.push_back({*asked, fmt::format("{:.3f}x asked of the geomean", *asked), "asked"});
  }
  if (const auto allowed = number_of(field(terms, "regression_max"))) {
    const double slowest = 1 / (1 + *allowed);
    lines.push_back({slowest, fmt::format("{:.3f}x allowed for a problem", slowest), "allowed"});
  }
  return lines;
}

Html time_cell(const Json& problem, const char* time, const char* spread) {
  const Html share = percent(field(problem, spread));
  return number(field(problem, time), 2) + (share.is_empty() ? Html() : small("spread " + share));
}

Html bound_line(const Json& estimate) {
  const Html at_least = speedup(number_of(field(estimate, "lower_bound")));
  return small(interval(ratio_of(field(estimate, "speedup")), 3) +
               (at_least.is_empty() ? Html() : " at least " + at_least));
}

HtmlTable estimate_table(const Json& estimate) {
  HtmlTable table("Speedup of each problem with its 95 % interval, and times in µs",
                  {{"Problem"}, {"Speedup", true}, {"Champion", true}, {"Challenger", true}});
  for (const Json& problem : field(estimate, "problems")) {
    table.add_row({text_of(problem, "problem"),
                   speedup(ratio_of(field(problem, "speedup")).middle()) + bound_line(problem),
                   time_cell(problem, "champion_us", "champion_spread"),
                   time_cell(problem, "challenger_us", "challenger_spread")});
  }
  table.add_row({element("strong", "geomean"),
                 speedup(ratio_of(field(estimate, "speedup")).middle()) + bound_line(estimate), "",
                 ""});
  return table;
}

// Samples that can be read, or why they cannot.
struct ReadSamples {
  MatchSamples samples;
  referee::HeatValues values;
  std::string fault;
};

ReadSamples read_samples(const LedgerEntry& match) {
  ReadSamples read;
  if (!field(field(match.data, "samples"), "rounds").is_array()) return read;
  try {
    read.samples = match.data.at("samples").get<MatchSamples>();
    read.values = referee::heat_values(read.samples);
  } catch (const Error& error) {
    read.fault = error.what();
  }
  return read;
}

// The ratios of a problem, one per complete heat; of one that nobody timed none.
std::vector<double> heat_ratios(const ReadSamples& read, const std::string& problem) {
  std::vector<double> ratios;
  const auto& names = read.samples.problems;
  const auto found = std::find(names.begin(), names.end(), problem);
  const auto index = static_cast<std::size_t>(found - names.begin());
  if (found == names.end() || index >= read.values.problems.size()) return ratios;
  for (const double log_ratio : read.values.problems[index].log_ratio) {
    ratios.push_back(std::exp(log_ratio));
  }
  return ratios;
}

PlotRow plot_row(const std::string& name, const Json& estimate, const std::vector<double>& heats) {
  const Ratio ratio = ratio_of(field(estimate, "speedup"));
  PlotRow row{
      .label = name,
      .spoken = fmt::format("{}: {:.3f}x, {:.3f} to {:.3f}", name, ratio.value.value_or(NAN),
                            ratio.low.value_or(NAN), ratio.high.value_or(NAN)),
      .value = element("span", speedup(ratio.middle()), {{"class", "plot-number"}})};
  for (const double heat : heats) row.points.push_back({PlotMark::kHeat, {.value = heat}});
  if (ratio.is_known()) row.points.push_back({PlotMark::kMeasured, ratio, "plain"});
  return row;
}

Html estimate_plot(const Season& season, const Json& estimate, const ReadSamples& read) {
  Plot plot{.caption = "Each problem against the deal terms", .lines = term_lines(season)};
  for (const Json& problem : field(estimate, "problems")) {
    const std::string name = text_of(problem, "problem");
    plot.rows.push_back(plot_row(name, problem, heat_ratios(read, name)));
  }
  plot.rows.push_back(plot_row("geomean", estimate, {}));
  return interval_plot(plot);
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

Html controls_line(const Json& estimate) {
  const Json& controls = field(estimate, "controls");
  Html line = number(field(estimate, "round_count"), 0) +
              " heats (fresh processes each); these find a gain of " +
              percent(field(estimate, "minimum_detectable_effect")) + " with 90 % power.";
  if (field(controls, "ok") == false) {
    line += " " + badge("controls failed", "bad") + " " + text_of(controls, "why_not");
  }
  return paragraph(line);
}

// Heats are numbered as in heat_values(): complete ones only, from 1.
HtmlTable heat_table(const ReadSamples& read) {
  HtmlTable table("Speedup found by each heat, in their order", {{"Problem"}, {"Speedups"}});
  for (const std::string& problem : read.samples.problems) {
    Html cells;
    for (const double ratio : heat_ratios(read, problem)) {
      cells += speedup(std::optional(ratio)) + " ";
    }
    if (!cells.is_empty()) table.add_row({problem, cells});
  }
  return table;
}

struct Times {
  std::vector<std::string> order;  // ABBA or BAAB
  std::vector<double> a_ns;
  std::vector<double> b_ns;
};

void add_times(HtmlTable& table, const std::string& series,
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
    table.add_row({series,
                   problems[i] + small(fmt::format("{}", fmt::join(by_problem[i].order, " "))),
                   fmt::format("{}", fmt::join(by_problem[i].a_ns, " ")),
                   fmt::format("{}", fmt::join(by_problem[i].b_ns, " "))});
  }
}

HtmlTable sample_table(const MatchSamples& samples) {
  HtmlTable table(
      "Every timed call, in nanoseconds. A is the champion; B the challenger, the champion’s copy "
      "(same) or the delayed champion (slowed)",
      {{"Heat and series"}, {"Problem"}, {"A (ns)"}, {"B (ns)"}}, "samples");
  for (std::size_t i = 0; i < samples.heats.size(); ++i) {
    const HeatSamples& heat = samples.heats[i];
    add_times(table, fmt::format("{}, match", i + 1), samples.problems, heat.match);
    add_times(table, fmt::format("{}, same", i + 1), samples.problems, heat.same);
    add_times(table, fmt::format("{}, slowed", i + 1), samples.problems, heat.slowed);
  }
  return table;
}

Html samples_html(const ReadSamples& read) {
  if (!read.fault.empty()) {
    return paragraph(badge("samples unreadable", "bad") + " " + read.fault);
  }
  return fold("Heats and raw samples", heat_table(read).html() + sample_table(read.samples).html());
}

Html log_html(const LedgerEntry& match) {
  Html lines;
  for (const Json& line : field(match.data, "log")) lines += element("li", text_of(line));
  return lines.is_empty() ? Html() : fold("What the referee wrote", element("ul", lines));
}

Html estimate_html(const Season& season, const Json& verdict, const ReadSamples& read) {
  const Json& estimate = field(verdict, "estimate");
  if (!estimate.is_object()) {
    return paragraph("It never came to a time; check: " + Html(text_of(verdict, "check")) + ".");
  }
  return estimate_plot(season, estimate, read) + estimate_table(estimate).html() +
         control_table(field(estimate, "controls")).html() + controls_line(estimate);
}

// Nothing for ledgers from before it was said.
std::string timing_text(const MatchSamples& samples) {
  return samples.timing ? "; timed: " + to_string(*samples.timing) : std::string();
}

Html contestant_line(const char* who, const std::string& name) {
  return element("div", element("span", who) + variant_html(name), {{"class", "contestant"}});
}

std::string reason_now(const Season& season, const LedgerEntry& match) {
  const std::string reason = text_of(field(match.data, "verdict"), "reason");
  const std::vector<const LedgerEntry*> titles = season.of_kind("champion");
  const bool title_changed = !titles.empty() && titles.back()->id > match.id;
  const bool was_unclear = text_of(field(match.data, "verdict"), "kind") == "unclear";
  return title_changed && was_unclear ? reason_without_title(reason) : reason;
}

}  // namespace

Html match(const Season& season, const LedgerEntry& match) {
  const Json& data = match.data;
  const Json& verdict = field(data, "verdict");
  const ReadSamples read = read_samples(match);
  return heading(4, Html(text_of(data, "pitch")) + " " + verdict_badge(text_of(verdict, "kind")) +
                        (is_measured(match) ? Html() : " " + source_badge(match.source))) +
         paragraph(reason_now(season, match)) +
         contestant_line("Challenger", text_of(data, "challenger")) +
         contestant_line("Champion", text_of(data, "champion")) +
         estimate_html(season, verdict, read) + samples_html(read) + log_html(match) +
         note(fmt::format("Ledger entry {}, suite {}, seed {}, ", match.id, text_of(data, "suite"),
                          text_of(data, "seed")) +
              number(field(data, "seconds"), 1) + " s" + timing_text(read.samples) + ".");
}

}  // namespace thresher::report
