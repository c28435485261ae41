// SPDX-License-Identifier: Apache-2.0
// From samples to a verdict: log-ratios of ABBA blocks, the fresh process as unit of analysis,
// t-bounds over heats, the deal terms, and a sequential stop. Pure functions, no clock.
// docs/statistics.md has the formulas and the error rates.
#pragma once

#include <cstdint>

#include "referee/statistics/verdict.hpp"

namespace thresher {

// The names that decide() puts into Verdict.check, beside those of fault.hpp.
namespace referee::check {
inline constexpr const char* kHeats = "heats";        // too few for a verdict
inline constexpr const char* kControls = "controls";  // the instrument failed its own checks
inline constexpr const char* kTerms = "terms";        // the deal terms decided
}  // namespace referee::check

// A match is looked at after every heat from heats_min to heats_max, and its one-sided bounds are
// wide enough for all these looks together. Choose both before the first heat and keep them: error
// rates rest on that. A stop in between, for want of time, costs nothing, and neither does going on
// within that range; whoever wants more heats than heats_max grants `heats_more`, at any time and
// as often as they like: a part of the error is kept back for those looks (terms.hpp).
struct AnalysisOptions {
  int heats_min = 5;
  int heats_max = 15;
  int heats_more = 0;

  int heats_limit() const { return heats_max + heats_more; }
};

// Needs one complete heat (a block of every problem), else throws Error. A single heat leaves all
// intervals open.
MatchEstimate estimate(const MatchSamples& samples, const DealTerms& terms,
                       const AnalysisOptions& options);

enum class Next : std::uint8_t { kStop, kMoreHeats };

// After each heat: is the case clear, or is another heat worth its time? A failed
// control is given the remaining heats to recover, which chance does and a fault does not.
Next next_step(const MatchSamples& samples, const DealTerms& terms, const AnalysisOptions& options);

// The verdict of timing alone: accepted, rejected or unclear (controls failed: unclear, says so).
Verdict decide(const MatchSamples& samples, const DealTerms& terms, const AnalysisOptions& options);

// A reason for an unclear verdict without its last words, on what more heats would tell: where the
// match can never get them, nobody may be promised that. `instead` stands in their place; a reason
// that promises nothing stays as it is.
std::string without_promise(const std::string& reason, const std::string& instead);

// A reason without what it says of blocks that were left out.
std::string without_left_out(const std::string& reason);

}  // namespace thresher
