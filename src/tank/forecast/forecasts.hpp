// SPDX-License-Identifier: Apache-2.0
// Forecasts for a device that nobody here has: what the model of time, fed with published numbers
// alone, says of problems and of pitches on a B200. They ship with the program as a ledger of their
// own (results/b200/forecasts.jsonl), hash-chained, so that they were made before anybody measured.
// A season on such a device begins with them, and scores.hpp says how good they were. Their source
// is `predicted`, and nothing predicted is ever shown as measured.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/machine.hpp"
#include "tank/ledger/ledger.hpp"

namespace thresher {

// The name that the shipped chain has for a season.
inline constexpr const char* kForecastsSeason = "b200";

// A B200 as published; docs/blackwell.md says by whom.
Machine published_b200();

// What the model says today, chained, as if it were sealed at `time_utc`.
std::vector<LedgerEntry> make_forecasts(const std::string& time_utc);

// Those that ship. Throws Error where the chain or the seal is broken.
std::vector<LedgerEntry> shipped_forecasts();

// JSON lines as `thresher ledger export` writes them. Throws Error naming the source and what is
// wrong: a line, a hash that does not match its contents, a seal that does not fit.
std::vector<LedgerEntry> read_forecasts(std::string_view json_lines, const std::string& source);

// Whether forecasts are about such a device.
bool is_forecast(const SmLimits& limits);

// The hash that the last entry must carry: over the data of all before it.
std::string seal_of(const std::vector<LedgerEntry>& entries);

// Appends to a season what of `forecasts` it does not have yet.
void append_forecasts(Ledger& ledger, const std::string& season,
                      const std::vector<LedgerEntry>& forecasts);

}  // namespace thresher
