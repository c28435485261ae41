// SPDX-License-Identifier: Apache-2.0
// A reported score sheet: points per dimension, weights, and the total that somebody wrote under
// them, which is not always their sum.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tank/ledger/ledger.hpp"

namespace thresher {

struct ScoreSheet {
  int round = 0;
  std::string shark;
  std::string pitch;
  std::map<std::string, double> scores;   // by dimension
  std::map<std::string, double> weights;  // by dimension
  std::string total_as_written;           // "8.7": its digits say how far it was rounded
};

double recomputed_total(const ScoreSheet& sheet);

// Whether the total differs from the sum by more than its own rounding explains.
bool is_wrong(const ScoreSheet& sheet);

// "7*0.40 + 9*0.25 + 8*0.20 + 8*0.15 = 7.85, not 8.05", heaviest dimension first.
std::string describe(const ScoreSheet& sheet);

// The data of a `sheet` entry (docs/ledger.md), and back. Throws Error naming the entry.
nlohmann::json sheet_entry(const ScoreSheet& sheet);
ScoreSheet sheet_from_entry(const LedgerEntry& entry);

// Of a season's `sheet` entries, in their order.
std::vector<ScoreSheet> wrong_sheets(const Ledger& ledger, const std::string& season);

}  // namespace thresher
