// SPDX-License-Identifier: Apache-2.0
// The search on a recorded space, as often as one likes, and trials at random beside it.
#pragma once

#include <cstdint>
#include <vector>

#include "tune/recorded_space.hpp"

namespace thresher::tune {

enum class Strategy : std::uint8_t { kSearch, kRandom };

// The share of the optimum that the best so far has, after each trial; 0 while nothing has run.
std::vector<double> replay(const RecordedSpace& recorded, Strategy strategy,
                           std::size_t trial_count, std::uint64_t seed);

struct ReplayFigures {
  std::vector<double> shares;         // at the end of each run, sorted
  std::vector<double> median_so_far;  // over the runs, after each trial
};
// Runs with the seeds from `first_seed` on, on all cores.
ReplayFigures replay_often(const RecordedSpace& recorded, Strategy strategy,
                           std::size_t trial_count, int run_count, std::uint64_t first_seed);

}  // namespace thresher::tune
