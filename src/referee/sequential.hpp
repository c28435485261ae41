// SPDX-License-Identifier: Apache-2.0
// What looking at a match after every round costs, and when to give up.
#pragma once

#include "referee/analysis.hpp"
#include "referee/round_mean.hpp"

namespace thresher::referee {

// The error each look may make so that all looks from rounds_min to rounds_max together make at
// most 1 - confidence: error / (1 + 3 ln(rounds_max / rounds_min)).
//
// Looks share most of their rounds, so their number matters little and their range in ln(rounds)
// matters much; a factor of 3 keeps the error of t-tests after every round between 4.0 and 4.8 %
// where 5 % is allowed, for ranges from 2..15 to 4..60 (analysis_test.cpp counts it). A match whose
// number of rounds is fixed has one look, and the formula leaves it the whole error.
double look_error(double error, const AnalysisOptions& options);

// The logarithm of how much likelier these rounds are under a gain of exactly `log_speedup_asked`
// than under no gain at all, by the generalised sequential probability ratio test:
//   n (s1 - s0) (2 m - s0 - s1) / (2 v), s0 = 0, s1 = log_speedup_asked,
// v the variance of a round, shrunk towards the machine's history. 0 when no gain is asked for.
double log_likelihood_ratio(const RoundMean& gain, double log_speedup_asked,
                            const AnalysisOptions& options);

// ln(19): the bound of Wald's test for errors of 5 % on either side.
inline constexpr double kLikelihoodBound = 2.944;

}  // namespace thresher::referee
