// SPDX-License-Identifier: Apache-2.0
#include "tune/replay.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "measure/statistics.hpp"
#include "parallel.hpp"

namespace thresher::tune {
namespace {

// Each point once, in any order.
std::vector<std::size_t> random_order(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random(seed);
  shuffle(order, random);
  return order;
}

}  // namespace

std::vector<double> replay(const RecordedSpace& recorded, Strategy strategy,
                           std::size_t trial_count, std::uint64_t seed) {
  std::vector<std::size_t> order;
  if (strategy == Strategy::kRandom) order = random_order(recorded.times.size(), seed);
  Search search(recorded.space, seed, trial_count);
  std::vector<double> shares;
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(trial_count, recorded.times.size()); ++i) {
    const std::size_t point = order.empty() ? *search.next() : order[i];
    if (order.empty()) search.tell(point, recorded.times[point]);
    best = std::min(best, recorded.times[point]);
    shares.push_back(recorded.least / best);
  }
  return shares;
}

ReplayFigures replay_often(const RecordedSpace& recorded, Strategy strategy,
                           std::size_t trial_count, int run_count, std::uint64_t first_seed) {
  std::vector<std::vector<double>> runs(static_cast<std::size_t>(run_count));
  for_each_in_parallel(run_count, 0, [&](std::int64_t i) {
    runs[static_cast<std::size_t>(i)] =
        replay(recorded, strategy, trial_count, first_seed + static_cast<std::uint64_t>(i));
  });
  ReplayFigures figures;
  for (std::size_t trial = 0; trial < runs.front().size(); ++trial) {
    std::vector<double> shares;
    for (const std::vector<double>& run : runs) shares.push_back(run[trial]);
    figures.median_so_far.push_back(measure::median(shares));
    figures.shares = std::move(shares);
  }
  std::sort(figures.shares.begin(), figures.shares.end());
  return figures;
}

}  // namespace thresher::tune
