// SPDX-License-Identifier: Apache-2.0
// What each heat says, as one number per problem, and what all of them say together:
// Student's t over heats. A heat is the unit of analysis: calls within one share the luck of its
// processes, so thousands of them are still one observation.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "referee/statistics/verdict.hpp"

namespace thresher::referee {

// Of complete heats only. A heat that lost all blocks of some problem is left out altogether:
// its geomean would be one over other problems.
struct HeatValues {
  struct OfProblem {
    std::vector<double> log_ratio;        // D_jk; > 0: the challenger is faster
    std::vector<double> champion_log_ns;  // ln of the heat's median
    std::vector<double> challenger_log_ns;
    // What the blocks within each heat say D_jk is uncertain by, the root mean square over heats.
    // Fresh processes only add to it, so heats that agree better than that do so by chance.
    double log_ratio_sd_min = 0;
    // As log_ratio, of what a few slow calls move: the mean, and the 90th percentile.
    std::vector<double> mean_log_ratio;
    std::vector<double> tail_log_ratio;
  };

  std::vector<OfProblem> problems;        // in the order of MatchSamples::problems
  std::vector<double> geomean_log_ratio;  // G_k, the mean of D_jk over problems
  std::vector<double> geomean_mean_log_ratio;
  std::vector<double> geomean_tail_log_ratio;
  int heat_count = 0;
  int block_count = 0;     // in these heats
  int left_out_count = 0;  // of them, disturbed
};

// (ln a1 + ln a2 - ln b1 - ln b2) / 2: constant and linear drift cancel.
double block_log_ratio(const Block& block);

// The Hodges-Lehmann estimate: the median of the means of all pairs, every value paired with itself
// as well. Nearly as sharp as the mean for normal noise, and not moved by a few wild values.
double middle_of_pairs(std::span<const double> values);

// What it is uncertain by, from the median distance of all pairs (Shamos): as little moved by wild
// values as the estimate itself. 0 for a single value.
double middle_of_pairs_error(std::span<const double> values);

// The least value that nine of ten do not exceed. `values` may not be empty.
double ninetieth_percentile(std::vector<double> values);

// Blocks marked as disturbed are left out where the heat has others of the same problem.
// Throws Error where a time is not a positive number or a block names no problem.
HeatValues heat_values(const MatchSamples& samples);

// The geomean log-ratio of a control, `&HeatSamples::same` or `::slowed`, in every heat that has
// it. Controls need not visit every problem.
std::vector<double> control_values(const MatchSamples& samples,
                                   std::vector<Block> HeatSamples::*control);

// The mean of heat values and how sure we are of it.
struct HeatMean {
  int count = 0;
  double mean = 0;
  double sd = 0;  // of one heat; infinite for a single one, of which nothing is known

  double standard_error() const;
  // Below it lies the truth with probability 1 - confidence, and likewise above the upper bound.
  double lower(double confidence) const;
  double upper(double confidence) const;
  // What the bounds are away from the mean.
  double margin(double confidence) const;
};

// `values` may not be empty.
HeatMean mean_of_heats(std::span<const double> values);

// The ratio behind a mean of log-ratios, between its bounds of this one-sided confidence.
Estimate interval(const HeatMean& log_ratio, double confidence);

inline constexpr int kHeatsNeededMax = 999;

// How sure the bound after so many heats has to be.
struct ConfidenceByHeats {
  std::function<double(int)> confidence;
  int planned_max = kHeatsNeededMax;  // beyond it the confidence rises
};

// How many heats in all bring the margin below `distance` if the sd stays what it is; more than
// `mean.count`, and kHeatsNeededMax if that many do not.
int heats_needed(const HeatMean& mean, double distance, const ConfidenceByHeats& by_heats);

}  // namespace thresher::referee
