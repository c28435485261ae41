// SPDX-License-Identifier: Apache-2.0
// Greedy scheduling: when the last worker is done if each takes the next piece as soon as it is
// free.
#pragma once

#include <algorithm>
#include <vector>

namespace thresher {

inline double makespan(const std::vector<double>& costs, int worker_count) {
  if (costs.empty()) return 0;
  if (costs.size() <= static_cast<std::size_t>(worker_count)) {
    return *std::max_element(costs.begin(), costs.end());
  }
  std::vector<double> busy_until(static_cast<std::size_t>(worker_count), 0.0);
  for (const double cost : costs) *std::min_element(busy_until.begin(), busy_until.end()) += cost;
  return *std::max_element(busy_until.begin(), busy_until.end());
}

}  // namespace thresher
