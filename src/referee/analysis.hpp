// SPDX-License-Identifier: Apache-2.0
// From samples to a verdict: log-ratios of ABBA blocks, the fresh process as unit of analysis,
// t-bounds over rounds, the deal terms, and a sequential stop. Pure functions, no clock.
// docs/statistics.md has the formulas and the error rates.
#pragma once

#include <cstdint>

#include "referee/samples.hpp"
#include "referee/verdict.hpp"

namespace thresher {

// A match is looked at after every round from rounds_min to rounds_max, and its one-sided bounds are
// wide enough for all these looks together. Equal numbers make a match of fixed length with a single
// look. The options must be chosen before the first round and be the same in every call.
struct AnalysisOptions {
  int rounds_min = 5;
  int rounds_max = 15;
  // The machine's history of the round-to-round variance of the geomean log-ratio, and how many
  // rounds it is worth: steadies the variance of the first rounds in the decision to give up,
  // v = ((n-1) v_n + weight v_0) / (n-1 + weight). Accepting and rejecting do not trust it.
  double prior_variance = 0.01 * 0.01;
  double prior_weight = 5;
};

// Needs one complete round (a block of every problem), else throws Error. A single round leaves all
// intervals open.
MatchEstimate estimate(const MatchSamples& samples, const DealTerms& terms,
                       const AnalysisOptions& options);

enum class Next : std::uint8_t { kStop, kMoreRounds };

// After each round: is the case clear (or hopeless), or is another round worth its time?
Next next_step(const MatchSamples& samples, const DealTerms& terms, const AnalysisOptions& options);

// The verdict of timing alone: accepted, rejected or unclear (controls failed: unclear, says so).
// `check` is "rounds", "controls" or "terms".
Verdict decide(const MatchSamples& samples, const DealTerms& terms, const AnalysisOptions& options);

}  // namespace thresher
