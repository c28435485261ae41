// SPDX-License-Identifier: Apache-2.0
// The credibilities that the sharks of a reported season would have had under our rules. Their
// seasons scored nobody, so this is computed from what they wrote: forecasts and votes.
#pragma once

#include <optional>
#include <vector>

#include "tank/ledger/ledger.hpp"
#include "tank/panel/credibility.hpp"

namespace thresher {

struct RoundCredibilities {
  int round = 0;
  Credibilities weights;
};

// A shark that voted for a pitch and gave no number counts as one that gave it this chance to work.
inline constexpr double kVoteMeans = 0.75;

// One for every round that has a verdict, in order. Sharks enter when their first ballot does.
std::vector<RoundCredibilities> replayed_credibilities(const std::vector<LedgerEntry>& entries);

}  // namespace thresher
