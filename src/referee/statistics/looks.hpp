// SPDX-License-Identifier: Apache-2.0
// What looking at a match after every round costs.
#pragma once

#include "referee/statistics/analysis.hpp"

namespace thresher::referee {

// The error each look may make so that all looks from rounds_min to rounds_max together make at
// most `error`: error / (1 + 3 ln(rounds_max / rounds_min)).
//
// Looks share most of their rounds, so their number matters little and their range in ln(rounds)
// much. With a factor of 3, t-tests after every round err in 4.0 to 4.8 % of cases where 5 % is
// allowed, for ranges from 2..15 to 4..60 (looks_test.cpp counts). A match of fixed length has one
// look, and the formula leaves it the whole error.
double look_error(double error, const AnalysisOptions& options);

}  // namespace thresher::referee
