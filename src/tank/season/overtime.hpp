// SPDX-License-Identifier: Apache-2.0
// Overtime: unclear matches go on where they stopped, with all their heats: between rounds those
// that are nearly decided, and all of them when no pitch is left to enter a round and time is.
// Which of them, and in which order.
#pragma once

#include <vector>

#include "tank/season/season_record.hpp"

namespace thresher {

struct OpenMatch {
  int round = 0;
  const PlayedMatch* match = nullptr;
  double seconds_needed = 0;  // until it is decided, if its heats go on as they were
};

// Those against the champion of the day that can still be accepted: the gain's upper bound is above
// what was asked, and the controls have not contradicted. What will be decided soonest comes first.
std::vector<OpenMatch> open_matches(const SeasonRecord& record, const DealTerms& terms);

}  // namespace thresher
