// SPDX-License-Identifier: Apache-2.0
// What each process round says, as one number per problem. A round is the unit of analysis: calls
// within one share the luck of its processes, so thousands of them are still one observation.
#pragma once

#include <vector>

#include "referee/statistics/samples.hpp"

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

}  // namespace thresher::referee
