// SPDX-License-Identifier: Apache-2.0
// Machines side by side: what seasons on several classes of machines came to, what plans say for
// each machine, and how the search for a plan went. Nothing where there is one season and no more.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/plan_file.hpp"
#include "report/season.hpp"

namespace thresher::report {

// What `thresher tune --simulate --json` says of one recorded space.
struct SimulatedSearch {
  std::string space;
  std::int64_t run_count = 0;
  std::vector<double> search;  // the median share of the optimum, after each trial
  std::vector<double> random;
};
// Throws Error naming the file and what is wrong with it.
std::vector<SimulatedSearch> read_simulated_searches(const std::filesystem::path& path);

// The class of machines that a season belongs to.
std::string class_of(const Season& season);

Html machines(const std::vector<Season>& seasons);             // champion, gain, verdicts of each
Html shark_records(const std::vector<Season>& seasons);        // per class
Html plans(const std::vector<MachinePlan>& plans);             // a row per problem
Html searches(const std::vector<MachinePlan>& plans,           // best found over time
              const std::vector<SimulatedSearch>& simulated);  // and over trials, against random

}  // namespace thresher::report
