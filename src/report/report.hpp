// SPDX-License-Identifier: Apache-2.0
// The report: one HTML page that needs nothing but itself, computed from the ledger alone. The same
// ledger gives the same page. docs/report.md says what is on it.
#pragma once

#include <string>

#include "tank/ledger/ledger.hpp"

namespace thresher {

// Of one season, or of all when `season` is empty. A ledger that fails its audit is reported too,
// with the fault at the top of the page.
std::string report_page(const Ledger& ledger, const std::string& season = {});

}  // namespace thresher
