// SPDX-License-Identifier: Apache-2.0
// What came of a pitch, as one cell. A number that we did not measure says so wherever it stands.
#pragma once

#include "report/html.hpp"
#include "tank/ledger/ledger.hpp"

namespace thresher::report {

inline bool is_measured(const LedgerEntry& entry) { return entry.source == "measured"; }

// Of a `verdict` entry, or of none: "1.234x [1.200, 1.270]"; "0.737x reported, 0.684x to 0.805x
// over problems"; "no time".
Html result_of(const LedgerEntry* verdict);

}  // namespace thresher::report
