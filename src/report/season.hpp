// SPDX-License-Identifier: Apache-2.0
// A season on the page: its entries as the parts look them up, and the parts in their order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/page.hpp"
#include "report/values.hpp"
#include "tank/ledger/ledger.hpp"
#include "tank/season/scoreboard.hpp"

namespace thresher::report {

// The title changed hands.
struct Title {
  int round = 0;
  std::string pitch;                     // that took it
  std::string champion;                  // as the ledger calls the contestant
  std::string words;                     // what it is, empty for a program
  const LedgerEntry* verdict = nullptr;  // null where the ledger has none on it
  bool is_reported = false;
};

struct Season {
  std::string name;
  std::vector<LedgerEntry> entries;  // in order of id
  Scoreboard board;

  std::vector<const LedgerEntry*> of_kind(const std::string& kind) const;
  std::vector<const LedgerEntry*> of_round(const std::string& kind, int round) const;
  std::vector<int> rounds() const;  // ascending, every round that anything is known of

  const LedgerEntry* start() const;  // null in a damaged or foreign ledger
  const LedgerEntry* end() const;    // null while it is being played
  const LedgerEntry* pitch(const std::string& name) const;
  // The last verdict on a pitch in a round, or null.
  const LedgerEntry* verdict(int round, const std::string& pitch) const;
  // The match that a verdict came from, or null.
  const LedgerEntry* match(const LedgerEntry& verdict) const;
  std::vector<Title> titles() const;
  bool took_title(int round, const std::string& pitch) const;
  // Nothing in it was measured here.
  bool is_reported() const;
};

Ratio ratio_of(const Range& range);

Season read_season(const Ledger& ledger, const std::string& name);

// What the champion is worth against the contestant that held the title first: the product of the
// matches by which the title changed hands, their errors added as independent ones.
struct Gain {
  Ratio ratio;  // no interval where anything of it was reported
  std::size_t match_count = 0;
  bool is_reported = false;
};
// None while the first champion holds the title, or where a match on the way has no time.
std::optional<Gain> gain_of(const Season& season);

Html headline(const Season& season);    // the season in words
Html gain(const Season& season);        // the champion, and what it is worth
Html scoreboard(const Season& season);  // every pitch that was built, its verdict and why
Html claims(const Season& season);      // claims against results, as a picture
Html rounds(const Season& season);      // behind a fold: ranking, vetoes and matches of each
Html match(const Season& season, const LedgerEntry& match);  // intervals, controls, raw samples
Html sharks(const Season& season);       // behind a fold: who is believed, and every ballot
Html pitches(const Season& season);      // behind a fold: what each said, and its fate
Html constraints(const Season& season);  // behind a fold: what vetoes
Html documents(const Season& season);    // behind a fold: score sheets and times others reported
Html forecasts(const Season& season);    // behind a fold: what was foretold
Html environment(const Season& season);  // behind a fold: the machine and the rules

}  // namespace thresher::report
