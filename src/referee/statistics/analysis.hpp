// SPDX-License-Identifier: Apache-2.0
// From samples to a verdict: log-ratios of ABBA blocks, the fresh process as unit of analysis,
// t-bounds over rounds, the deal terms, and a sequential stop. Pure functions, no clock.
// docs/statistics.md has the formulas and the error rates.
#pragma once

#include <cstdint>

#include "referee/statistics/verdict.hpp"

namespace thresher {

// The names that decide() puts into Verdict.check, beside those of fault.hpp.
namespace referee::check {
inline constexpr const char* kRounds = "rounds";      // too few for a verdict
inline constexpr const char* kControls = "controls";  // the instrument failed its own checks
inline constexpr const char* kTerms = "terms";        // the deal terms decided
}  // namespace referee::check

// A match is looked at after every round from rounds_min to rounds_max, and its one-sided bounds
// are wide enough for all these looks together. Equal numbers make a match of fixed length with a
// single look. Choose them before the first round and keep them: error rates rest on that.
struct AnalysisOptions {
  int rounds_min = 5;
  int rounds_max = 15;
};

// Needs one complete round (a block of every problem), else throws Error. A single round leaves all
// intervals open.
MatchEstimate estimate(const MatchSamples& samples, const DealTerms& terms,
                       const AnalysisOptions& options);

enum class Next : std::uint8_t { kStop, kMoreRounds };

// After each round: is the case clear (or hopeless), or is another round worth its time? A failed
// control is given the remaining rounds to recover, which chance does and a fault does not.
Next next_step(const MatchSamples& samples, const DealTerms& terms, const AnalysisOptions& options);

// The verdict of timing alone: accepted, rejected or unclear (controls failed: unclear, says so).
Verdict decide(const MatchSamples& samples, const DealTerms& terms, const AnalysisOptions& options);

}  // namespace thresher
