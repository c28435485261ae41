// SPDX-License-Identifier: Apache-2.0
// The mean of round values and how sure we are of it: Student's t over rounds.
#pragma once

#include <span>

namespace thresher::referee {

struct RoundMean {
  int count = 0;
  double mean = 0;
  double sd = 0;  // of one round; infinite for a single one, of which nothing is known

  double standard_error() const;
  // Below it lies the truth with probability 1 - confidence, and likewise above the upper bound.
  double lower(double confidence) const;
  double upper(double confidence) const;
  // What the bounds are away from the mean.
  double margin(double confidence) const;
};

// `values` may not be empty.
RoundMean mean_of_rounds(std::span<const double> values);

inline constexpr int kRoundsNeededMax = 999;

// How many rounds in all bring the margin below `distance` if the sd stays what it is; more than
// `mean.count`, and kRoundsNeededMax if that many do not.
int rounds_needed(const RoundMean& mean, double distance, double confidence);

}  // namespace thresher::referee
