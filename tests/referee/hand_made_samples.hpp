// SPDX-License-Identifier: Apache-2.0
// Matches whose heat values are known, because a test wrote them down.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "referee/statistics/verdict.hpp"

namespace thresher::referee {

inline constexpr double kChampionNs = 100e3;
inline constexpr double kSlowedTruth = 0.9;

// A block with this log-ratio and no noise in it.
inline Block block_of(int problem_index, double log_ratio) {
  const double b_ns = kChampionNs * std::exp(-log_ratio);
  return {problem_index, true, {kChampionNs, kChampionNs}, {b_ns, b_ns}};
}

// One heat per row, one problem per column, one block each; perfect controls.
inline MatchSamples samples_of(const std::vector<std::vector<double>>& log_ratios) {
  MatchSamples samples{.slowed_truth = kSlowedTruth};
  for (std::size_t i = 0; i < log_ratios.front().size(); ++i) {
    samples.problems.push_back(fmt::format("p{}", i));
  }
  for (const std::vector<double>& row : log_ratios) {
    HeatSamples heat;
    for (const double log_ratio : row) {
      const int problem_index = static_cast<int>(heat.match.size());
      heat.match.push_back(block_of(problem_index, log_ratio));
      heat.same.push_back(block_of(problem_index, 0));
      heat.slowed.push_back(block_of(problem_index, std::log(kSlowedTruth)));
    }
    samples.heats.push_back(heat);
  }
  return samples;
}

}  // namespace thresher::referee
