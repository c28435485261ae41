// SPDX-License-Identifier: Apache-2.0
#include "cli/tune_simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/progress.hpp"
#include "cli/table.hpp"
#include "measure/statistics.hpp"
#include "tune/replay.hpp"

namespace thresher::cli {
namespace {

// What counts as found.
constexpr double kFoundShare = 0.99;

struct SimulatedSpace {
  tune::RecordedSpace recorded;
  std::size_t trial_count = 0;
  tune::ReplayFigures search;
  tune::ReplayFigures random;
};

double found_share(const tune::ReplayFigures& figures) {
  const auto found = std::count_if(figures.shares.begin(), figures.shares.end(),
                                   [](double share) { return share >= kFoundShare; });
  return static_cast<double>(found) / static_cast<double>(figures.shares.size());
}

// A tenth of the runs is as bad, or worse.
double worst_tenth(const tune::ReplayFigures& figures) {
  return figures.shares[figures.shares.size() / 10];
}

std::vector<SimulatedSpace> simulate_all(const TuneSimulation& simulation) {
  std::vector<SimulatedSpace> spaces;
  for (const std::filesystem::path& file : simulation.files) {
    spaces.push_back({.recorded = tune::read_recorded_space(file)});
  }
  Progress progress(static_cast<std::int64_t>(2 * spaces.size()));
  for (SimulatedSpace& one : spaces) {
    const auto points = static_cast<double>(one.recorded.times.size());
    one.trial_count =
        std::max<std::size_t>(1, static_cast<std::size_t>(points * simulation.budget_share));
    const auto often = [&](tune::Strategy strategy, const char* what) {
      progress.begin_step(fmt::format("{}: {}, {} runs of {} trials", one.recorded.name, what,
                                      simulation.run_count, one.trial_count));
      return tune::replay_often(one.recorded, strategy, one.trial_count, simulation.run_count,
                                simulation.seed);
    };
    one.random = often(tune::Strategy::kRandom, "at random");
    one.search = often(tune::Strategy::kSearch, "the search");
  }
  return spaces;
}

nlohmann::ordered_json figures_to_json(const tune::ReplayFigures& figures) {
  return {{"median", measure::median(figures.shares)},
          {"worst_tenth", worst_tenth(figures)},
          {"found", found_share(figures)},
          {"shares", figures.shares},
          {"median_so_far", figures.median_so_far}};
}

void print_simulation_json(const std::vector<SimulatedSpace>& spaces, int run_count) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const SimulatedSpace& one : spaces) {
    list.push_back({{"space", one.recorded.name},
                    {"size", one.recorded.times.size()},
                    {"correct", one.recorded.runs_count},
                    {"budget", one.trial_count},
                    {"runs", run_count},
                    {"search", figures_to_json(one.search)},
                    {"random", figures_to_json(one.random)}});
  }
  fmt::print("{}\n", nlohmann::ordered_json{{"spaces", list}}.dump());
}

void print_simulation(const std::vector<SimulatedSpace>& spaces, int run_count) {
  fmt::print("Share of the optimum that is found, {} runs\n", run_count);
  Table table({{"space"},
               {"points", Align::kRight},
               {"trials", Align::kRight},
               {"search: median", Align::kRight},
               {"worst tenth", Align::kRight},
               {"runs at 0.99", Align::kRight},
               {"random: median", Align::kRight},
               {"runs at 0.99", Align::kRight}});
  const auto percent_of = [](double share) { return fmt::format("{:.0f} %", 100 * share); };
  for (const SimulatedSpace& one : spaces) {
    table.add_row({one.recorded.name, fmt::format("{}", one.recorded.times.size()),
                   fmt::format("{}", one.trial_count),
                   fmt::format("{:.4f}", measure::median(one.search.shares)),
                   fmt::format("{:.4f}", worst_tenth(one.search)),
                   percent_of(found_share(one.search)),
                   fmt::format("{:.4f}", measure::median(one.random.shares)),
                   percent_of(found_share(one.random))});
  }
  print(table);
}

}  // namespace

void simulate_tuning(const TuneSimulation& simulation) {
  const std::vector<SimulatedSpace> spaces = simulate_all(simulation);
  if (simulation.json) {
    print_simulation_json(spaces, simulation.run_count);
  } else {
    print_simulation(spaces, simulation.run_count);
  }
}

}  // namespace thresher::cli
