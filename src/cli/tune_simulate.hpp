// SPDX-License-Identifier: Apache-2.0
// tune --simulate: the search on recorded spaces, whose optimum is known, against trials at random.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace thresher::cli {

struct TuneSimulation {
  std::vector<std::filesystem::path> files;
  int run_count = 100;
  double budget_share = 0.05;  // trials, as a share of the space
  std::uint64_t seed = 1;      // of the first run
  bool json = false;
};

// Prints a table, or one JSON object.
void simulate_tuning(const TuneSimulation& simulation);

}  // namespace thresher::cli
