// SPDX-License-Identifier: Apache-2.0
// judge() with what only the referee's own tests turn: a gain of known size.
#pragma once

#include "referee/match.hpp"

namespace thresher::referee {

// The champion takes `champion_slowed_share` longer in every call of the match: a challenger that
// is the champion itself is then faster by exactly that much.
MatchRecord judge_with_gain(const Match& match, double champion_slowed_share);

}  // namespace thresher::referee
