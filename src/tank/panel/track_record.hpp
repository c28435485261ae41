// SPDX-License-Identifier: Apache-2.0
// What claims were worth: every resolved pitch in the ledger, whatever its season.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tank/ledger/ledger.hpp"

namespace thresher {

struct PastClaim {
  std::string family;
  std::string author;
  double log_claim = 0;
  bool worked = false;                // accepted
  std::optional<double> log_speedup;  // as measured; none: it never came to timing
  bool reported = false;              // somebody else's word
};

// In the order of the verdicts. Unclear ones resolve nothing and are left out.
std::vector<PastClaim> past_claims(const Ledger& ledger);

}  // namespace thresher
