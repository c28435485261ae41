// SPDX-License-Identifier: Apache-2.0
// The season that started the project, as entries for the ledger. All of it is `reported`: the
// numbers are those of five documents (seasons/seeds.toml quotes them), and only what follows from
// them by arithmetic is added: totals of score sheets, and speedups of reported times.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tank/ledger/ledger.hpp"

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

}  // namespace thresher
