// SPDX-License-Identifier: Apache-2.0
// The report: one HTML page that needs nothing but itself, computed from ledgers, plan files and
// replays of the search alone. The same files give the same page. docs/report.md says what is on
// it.
#pragma once

#include <string>
#include <vector>

#include "report/machines.hpp"

namespace thresher {

struct ReportSources {
  std::vector<const Ledger*> ledgers;
  std::string season;  // empty: all
  std::vector<MachinePlan> plans = {};
  std::vector<report::SimulatedSearch> searches = {};
};

// A ledger that fails its audit is reported too, with the fault at the top of the page.
std::string report_page(const ReportSources& sources);
// Of one season, or of all when `season` is empty.
std::string report_page(const Ledger& ledger, const std::string& season = {});

}  // namespace thresher
