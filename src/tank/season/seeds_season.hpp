// SPDX-License-Identifier: Apache-2.0
// The season that started the project, as entries for the ledger. All of it is `reported`: the
// numbers are those of five documents (seasons/seeds.toml quotes them), and only what follows from
// them by arithmetic is added: totals of score sheets, and speedups of reported times.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tank/ledger/ledger.hpp"
#include "tank/panel/credibility.hpp"

namespace thresher {

inline constexpr const char* kSeedsSeason = "seeds";

struct ReportedEntry {
  std::string kind;
  nlohmann::json data;
};

// In the order in which the season happened. Beyond docs/ledger.md, every entry names its
// `document` and all but the season's their `round`. What nobody reported is null: the claim of a
// pitch, the forecast of a ballot, and of a forecast everything but its range.
std::vector<ReportedEntry> seeds_season_entries();

// Appends what is not in the ledger yet; returns how many entries that were. So an import that was
// interrupted is finished by the next, and one that was finished is not repeated.
std::size_t import_seeds_season(Ledger& ledger);

// A score sheet: points per dimension, weights, and the total that somebody wrote under them, which
// is not always their sum.
struct ScoreSheet {
  std::map<std::string, double> scores;
  std::map<std::string, double> weights;
  std::string total_as_written;  // "8.7": its digits say how far it was rounded
};

double recomputed_total(const ScoreSheet& sheet);

// Whether the total differs from the sum by more than its own rounding explains.
bool is_wrong(const ScoreSheet& sheet);

// The credibilities that the sharks of a reported season would have had under our rules. Their
// seasons scored nobody, so this is computed from what they wrote: forecasts and votes.
struct RoundCredibilities {
  int round = 0;
  Credibilities weights;
};

// A shark that voted for a pitch and gave no number counts as one that gave it this chance to work.
inline constexpr double kVoteMeans = 0.75;

// One for every round that has a verdict, in order. Sharks enter when their first ballot does.
std::vector<RoundCredibilities> replayed_credibilities(const std::vector<LedgerEntry>& entries);

}  // namespace thresher
