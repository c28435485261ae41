// SPDX-License-Identifier: Apache-2.0
// Plans of several machines side by side, and how their searches went.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "report/lines.hpp"
#include "report/machines.hpp"
#include "report/values.hpp"
#include "thresher/error.hpp"

namespace thresher::report {
namespace {

constexpr std::uintmax_t kSearchBytesMax = 64 << 20;

std::string problem_name(const PlanEntry& entry) {
  // The three numbers stay on one line.
  return fmt::format("{} {}, {}\u00a0×\u00a0{}\u00a0×\u00a0{}, {} token{}", to_string(entry.of.op),
                     to_string(entry.of.activations), entry.of.groups, entry.of.n, entry.of.k,
                     entry.tokens, entry.tokens == 1 ? "" : "s");
}

bool is_same(const PlanEntry& a, const PlanEntry& b) {
  return a.of == b.of && a.tokens == b.tokens;
}

// A problem of any of the plans.
struct PlanRow {
  PlanEntry entry;
  std::vector<const PlanEntry*> of_plan;  // null: the plan has none
};

std::vector<PlanRow> rows_of(const std::vector<MachinePlan>& plans) {
  std::vector<PlanRow> rows;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    for (const PlanEntry& entry : plans[i].entries) {
      auto row = std::find_if(rows.begin(), rows.end(),
                              [&](const PlanRow& one) { return is_same(one.entry, entry); });
      if (row == rows.end()) {
        row = rows.insert(rows.end(), {entry, std::vector<const PlanEntry*>(plans.size())});
      }
      row->of_plan[i] = &entry;
    }
  }
  return rows;
}

// It may break after a comma, and should nowhere else.
Html variant_code(const std::string& name) {
  Html html;
  std::size_t begin = 0;
  for (std::size_t comma = name.find(','); comma != std::string::npos;
       comma = name.find(',', begin)) {
    html += Html(name.substr(begin, comma + 1 - begin)) + Html::markup("<wbr>");
    begin = comma + 1;
  }
  return element("code", html + name.substr(begin));
}

Html entry_cell(const PlanEntry* entry) {
  if (entry == nullptr) return {};
  const Ratio ratio{.value = entry->speedup, .low = entry->low, .high = entry->high};
  Html cell = entry->better ? speedup(ratio.value) + " " + small(interval(ratio, 3)) +
                                  small(variant_code(entry->variant))
                            : Html("the engine’s choice") + small(entry->reason);
  if (entry->story) {
    cell += small(fmt::format("{} of {} variants tried", entry->story->tried, entry->story->space));
  }
  return cell;
}

// What the search believed at each time: later races may take back what an earlier one showed.
std::vector<ChartPoint> points_of(const PlanStory& story) {
  std::vector<ChartPoint> points{{0, 1}};
  for (const PlanStory::Moment& moment : story.trace) {
    points.push_back({moment.seconds, moment.speedup});
  }
  return points;
}

// The search and, where there is one, trials at random on the same machine.
Html story_chart(const std::string& machine, const PlanRow& row, const PlanStory* search,
                 const PlanStory* random) {
  LineChart chart{.caption = fmt::format("{}: {}", machine, problem_name(row.entry)),
                  .x_unit = " s",
                  .lines = {}};
  if (search != nullptr) chart.lines.push_back({"the search", "search", points_of(*search)});
  if (random != nullptr) chart.lines.push_back({"at random", "random", points_of(*random)});
  return line_chart(chart);
}

// Of one machine, which may have been searched in both ways.
struct MachineStories {
  std::string machine;
  const PlanStory* search = nullptr;
  const PlanStory* random = nullptr;
};

// Machines in the order of the plans, as in the table.
std::vector<MachineStories> stories_of(const PlanRow& row, const std::vector<MachinePlan>& plans) {
  std::vector<MachineStories> all;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (row.of_plan[i] == nullptr || !row.of_plan[i]->story) continue;
    const std::string machine = to_string(plans[i].fingerprint);
    auto one = std::find_if(all.begin(), all.end(),
                            [&](const MachineStories& other) { return other.machine == machine; });
    if (one == all.end()) one = all.insert(all.end(), {.machine = machine});
    const PlanStory& story = *row.of_plan[i]->story;
    (story.at_random ? one->random : one->search) = &story;
  }
  return all;
}

Html story_charts(const std::vector<MachinePlan>& plans) {
  Html charts;
  for (const PlanRow& row : rows_of(plans)) {
    for (const MachineStories& one : stories_of(row, plans)) {
      charts += story_chart(one.machine, row, one.search, one.random);
    }
  }
  return charts;
}

std::vector<ChartPoint> shares(const std::vector<double>& values) {
  std::vector<ChartPoint> points;
  for (std::size_t i = 0; i < values.size(); ++i) {
    points.push_back({static_cast<double>(i + 1), values[i]});
  }
  return points;
}

std::vector<double> shares_from(const nlohmann::json& of_strategy) {
  std::vector<double> values;
  for (const nlohmann::json& value : of_strategy.at("median_so_far")) values.push_back(value);
  return values;
}

}  // namespace

std::vector<SimulatedSearch> read_simulated_searches(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::file_size(path, error) > kSearchBytesMax || error) {
    throw Error(fmt::format("cannot read {}, or it is too long", path.string()));
  }
  std::ifstream stream(path);
  try {
    std::vector<SimulatedSearch> found;
    const nlohmann::json json = nlohmann::json::parse(stream);
    for (const nlohmann::json& one : json.at("spaces")) {
      found.push_back({.space = one.at("space"),
                       .run_count = one.at("runs"),
                       .search = shares_from(one.at("search")),
                       .random = shares_from(one.at("random"))});
    }
    return found;
  } catch (const nlohmann::json::exception& fault) {
    throw Error(fmt::format("{} is not what 'thresher tune --simulate --json' prints: {}",
                            path.string(), fault.what()));
  }
}

Html plans(const std::vector<MachinePlan>& plans) {
  std::vector<MachinePlan> shown;
  std::vector<HtmlColumn> columns{{"Problem", false, "name"}};
  for (const MachinePlan& plan : plans) {
    const bool at_random =
        std::any_of(plan.entries.begin(), plan.entries.end(),
                    [](const PlanEntry& entry) { return entry.story && entry.story->at_random; });
    if (at_random || plan.entries.empty()) continue;
    shown.push_back(plan);
    columns.push_back({to_string(plan.fingerprint)});
  }
  HtmlTable table("Gains over the engine’s own choice, by the referee, with their 95 % intervals",
                  columns, "stacks");
  for (const PlanRow& row : rows_of(shown)) {
    std::vector<Html> cells{problem_name(row.entry)};
    for (const PlanEntry* entry : row.of_plan) cells.push_back(entry_cell(entry));
    table.add_row(cells);
  }
  return table.is_empty() ? Html() : heading(3, "Plans, machine by machine") + table.html();
}

Html searches(const std::vector<MachinePlan>& plans,
              const std::vector<SimulatedSearch>& simulated) {
  Html charts = story_charts(plans);
  if (!charts.is_empty()) {
    charts =
        note(
            "The best variant so far over time, as raced against the engine’s choice; later races "
            "may take back what an earlier one showed.") +
        element("div", charts, {{"class", "charts"}});
  }
  Html replays;
  for (const SimulatedSearch& one : simulated) {
    replays += line_chart({.caption = fmt::format("{}, {} runs", one.space, one.run_count),
                           .x_unit = " trials",
                           .lines = {{"the search", "search", shares(one.search)},
                                     {"at random", "random", shares(one.random)}}});
  }
  if (!replays.is_empty()) {
    charts += note("On recorded spaces: the share of the optimum in the median of all runs.") +
              element("div", replays, {{"class", "charts"}});
  }
  return charts.is_empty() ? Html() : heading(3, "The search") + charts;
}

}  // namespace thresher::report
