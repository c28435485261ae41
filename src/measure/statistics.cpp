// SPDX-License-Identifier: Apache-2.0
#include "measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "assert.hpp"

namespace thresher::measure {
namespace {

double median_of_sorted(const std::vector<double>& sorted) {
  const std::size_t middle = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return sorted[middle];
  return (sorted[middle - 1] + sorted[middle]) / 2;
}

struct Rank {
  std::size_t index = 0;  // of the low end from below, and of the high end from above
  double coverage = 0;
};

// The innermost rank that still covers `coverage_min`, or the outermost one if none does.
Rank interval_rank(std::size_t sample_count, double coverage_min) {
  const double n = static_cast<double>(sample_count);
  // P(Bin(n, 1/2) = i) for i = 0, 1, ...: as a logarithm, because double has no 2^-1075.
  double log_probability = -n * std::numbers::ln2;
  double below = std::exp(log_probability);  // P(Bin < 1)
  Rank rank{.index = 0, .coverage = std::max(0.0, 1 - 2 * below)};
  for (std::size_t i = 1; 2 * i < sample_count; ++i) {
    const double di = static_cast<double>(i);
    log_probability += std::log((n - di + 1) / di);
    below += std::exp(log_probability);  // P(Bin < i + 1)
    const double coverage = 1 - 2 * below;
    if (coverage < coverage_min) break;
    rank = {.index = i, .coverage = coverage};
  }
  return rank;
}

}  // namespace

double median(std::span<const double> samples) {
  THRESHER_ASSERT(!samples.empty());
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return median_of_sorted(sorted);
}

MedianInterval median_interval(std::span<const double> samples, double coverage_min) {
  THRESHER_ASSERT(!samples.empty());
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const Rank rank = interval_rank(sorted.size(), coverage_min);
  return {.median = median_of_sorted(sorted),
          .low = sorted[rank.index],
          .high = sorted[sorted.size() - 1 - rank.index],
          .coverage = rank.coverage};
}

double geomean(std::span<const double> ratios) {
  THRESHER_ASSERT(!ratios.empty());
  double log_sum = 0;
  for (const double ratio : ratios) {
    THRESHER_ASSERT(ratio > 0);
    log_sum += std::log(ratio);
  }
  return std::exp(log_sum / static_cast<double>(ratios.size()));
}

}  // namespace thresher::measure
