// SPDX-License-Identifier: Apache-2.0
// How each deal term stands after these rounds: met, broken, or open because the rounds allow both.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "referee/statistics/analysis.hpp"
#include "referee/statistics/round_values.hpp"

namespace thresher::referee {

enum class Standing : std::uint8_t { kMet, kOpen, kBroken };

struct TermStanding {
  Standing standing = Standing::kOpen;
  std::string finding;    // "geomean 1.012x, at least 0.998x: a gain is not certain"
  int rounds_needed = 0;  // kOpen: in all, if nothing changes; 0 where rounds do not help
};

// The gain first, then every problem's regression, then every problem's spread.
std::vector<TermStanding> judge_terms(const RoundValues& values,
                                      const std::vector<std::string>& problems,
                                      const DealTerms& terms, const AnalysisOptions& options);

// Whether no number of rounds will help, because the champion itself surely spreads beyond the
// terms.
bool champion_surely_spreads(const RoundValues& values, const DealTerms& terms,
                             const AnalysisOptions& options);

}  // namespace thresher::referee
