// SPDX-License-Identifier: Apache-2.0
// What a list of timings says: its middle, how sure we are of it, and how to average ratios.
//
// Timings on a shared machine have a long right tail and no known distribution, so everything here
// rests on order alone: the median, and an interval between two of the samples themselves.
#pragma once

#include <span>

namespace thresher::measure {

// The middle value, or the mean of the two middle ones. `samples` may not be empty.
double median(std::span<const double> samples);

struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;
  // How often an interval made this way contains the true median, whatever the distribution.
  double coverage = 0;
};

// The narrowest interval between the i-th smallest and the i-th largest sample whose coverage is at
// least `coverage_min`. The true median lies outside only if fewer than i of n samples fall on one
// side of it, and each falls on either side with probability 1/2, so that
//   coverage = 1 - 2 P(Bin(n, 1/2) < i).
// Samples must be independent and identically distributed for this to hold.
//
// Few samples cannot promise much: below 6 even the whole range covers less than 95 %. The whole
// range is returned then, with the coverage it really has (0.9375 for 5 samples, 0 for 1).
MedianInterval median_interval(std::span<const double> samples, double coverage_min = 0.95);

// The right mean of ratios: that of A against B is one over that of B against A. Every ratio must
// be positive, and there must be at least one.
double geomean(std::span<const double> ratios);

}  // namespace thresher::measure
