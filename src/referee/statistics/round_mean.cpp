// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/round_mean.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "assert.hpp"
#include "referee/statistics/distributions.hpp"

namespace thresher::referee {

double RoundMean::standard_error() const { return sd / std::sqrt(count); }

double RoundMean::margin(double confidence) const {
  if (count < 2) return std::numeric_limits<double>::infinity();
  return student_t_quantile(confidence, count - 1) * standard_error();
}

double RoundMean::lower(double confidence) const { return mean - margin(confidence); }

double RoundMean::upper(double confidence) const { return mean + margin(confidence); }

RoundMean mean_of_rounds(std::span<const double> values) {
  THRESHER_ASSERT(!values.empty());
  const double n = static_cast<double>(values.size());
  RoundMean result{.count = static_cast<int>(values.size()),
                   .sd = std::numeric_limits<double>::infinity()};
  for (const double value : values) result.mean += value / n;
  if (values.size() == 1) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.sd = std::sqrt(squares / (n - 1));
  return result;
}

int rounds_needed(const RoundMean& mean, double distance, double confidence) {
  const int first = mean.count + 1;
  // Normal quantiles are below Student's, so this many rounds never suffice by more than a few.
  const double z = normal_quantile(confidence);
  const double optimistic = std::floor((z * mean.sd / distance) * (z * mean.sd / distance));
  if (!(optimistic < kRoundsNeededMax)) return kRoundsNeededMax;
  RoundMean extended = mean;
  extended.count = std::max(first, static_cast<int>(optimistic));
  while (extended.count < kRoundsNeededMax && extended.margin(confidence) >= distance) {
    ++extended.count;
  }
  return extended.count;
}

}  // namespace thresher::referee
