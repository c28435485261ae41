// SPDX-License-Identifier: Apache-2.0
// The entries of one season, as the sections of the page look them up.
#pragma once

#include <string>
#include <vector>

#include "tank/ledger/ledger.hpp"

namespace thresher::report {

struct Season {
  std::string name;
  std::vector<LedgerEntry> entries;  // in order of id

  std::vector<const LedgerEntry*> of_kind(const std::string& kind) const;
  std::vector<const LedgerEntry*> of_round(const std::string& kind, int round) const;
  std::vector<int> rounds() const;  // ascending, every round that anything is known of

  const LedgerEntry* start() const;  // null in a damaged or foreign ledger
  const LedgerEntry* pitch(const std::string& name) const;
  // The last verdict on a pitch in a round, or null.
  const LedgerEntry* verdict(int round, const std::string& pitch) const;
};

}  // namespace thresher::report
