// SPDX-License-Identifier: Apache-2.0
// The instrument's own checks: the champion against its copy must show nothing, the champion with a
// known delay must show that delay. A match whose controls fail is void.
#pragma once

#include "referee/statistics/samples.hpp"
#include "referee/statistics/verdict.hpp"

namespace thresher::referee {

// Each control fails on a sound instrument with a probability of at most 1 %: that is the error of
// the intervals it reports. Besides, the delay must be large enough to be seen: 2.5 times the
// standard deviation of a round for 5 rounds.
inline constexpr double kControlError = 0.01;

// An instrument this little off cannot turn a verdict, however sure of it a quiet machine is.
inline constexpr double kSameShareOfGain = 0.1;      // of the logarithm of the speedup asked for
inline constexpr double kSlowedShareOfDelay = 0.25;  // of the logarithm of the injected slowdown

Controls judge_controls(const MatchSamples& samples, const DealTerms& terms);

}  // namespace thresher::referee
