// SPDX-License-Identifier: Apache-2.0
// A season on the page: its entries as the sections look them up, and the sections in their order.
#pragma once

#include <string>
#include <vector>

#include "report/page.hpp"
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

void add_scoreboard(Page& page, const Season& season);   // who won, what was predicted and found
void add_predictions(Page& page, const Season& season);  // every claim and forecast, and its result
void add_matches(Page& page, const Season& season);      // intervals, controls, raw samples
void add_credibility(Page& page, const Season& season);  // who is believed, round by round
void add_constraints(Page& page, const Season& season);  // what vetoes, and what was vetoed
void add_documents(Page& page, const Season& season);    // score sheets and times others reported
void add_environment(Page& page, const Season& season);  // the machine and the rules

}  // namespace thresher::report
