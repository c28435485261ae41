// SPDX-License-Identifier: Apache-2.0
// What each process round says, as one number per problem, and what all of them say together:
// Student's t over rounds. A round is the unit of analysis: calls within one share the luck of its
// processes, so thousands of them are still one observation.
#pragma once

#include <span>
#include <vector>

#include "referee/statistics/verdict.hpp"

namespace thresher::referee {

// Of complete rounds only. A round that lost all blocks of some problem is left out altogether:
// its geomean would be one over other problems.
struct RoundValues {
  struct OfProblem {
    std::vector<double> log_ratio;        // D_jk; > 0: the challenger is faster
    std::vector<double> champion_log_ns;  // ln of the round's median
    std::vector<double> challenger_log_ns;
  };

  std::vector<OfProblem> problems;        // in the order of MatchSamples::problems
  std::vector<double> geomean_log_ratio;  // G_k, the mean of D_jk over problems
  int round_count = 0;
};

// (ln a1 + ln a2 - ln b1 - ln b2) / 2: constant and linear drift cancel.
double block_log_ratio(const Block& block);

// Throws Error where a time is not a positive number or a block names no problem.
RoundValues round_values(const MatchSamples& samples);

// The geomean log-ratio of a control, `&RoundSamples::same` or `::slowed`, in every round that has
// it. Controls need not visit every problem.
std::vector<double> control_values(const MatchSamples& samples,
                                   std::vector<Block> RoundSamples::*control);

// The mean of round values and how sure we are of it.
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

// The ratio behind a mean of log-ratios, between its bounds of this one-sided confidence.
Estimate interval(const RoundMean& log_ratio, double confidence);

inline constexpr int kRoundsNeededMax = 999;

// How many rounds in all bring the margin below `distance` if the sd stays what it is; more than
// `mean.count`, and kRoundsNeededMax if that many do not.
int rounds_needed(const RoundMean& mean, double distance, double confidence);

}  // namespace thresher::referee
