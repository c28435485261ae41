// SPDX-License-Identifier: Apache-2.0
// The ledger for other programs: everything as JSON lines, and matches as T4 results.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tank/ledger/ledger.hpp"

namespace thresher {

// All fields of an entry under their names. Whoever has these can compute the hash again.
nlohmann::ordered_json to_ordered_json(const LedgerEntry& entry);

// One such object per line.
std::string to_json_lines(const std::vector<LedgerEntry>& entries);

// An entry from its line, neither its hash nor its place looked at. Throws Error where it is none.
LedgerEntry entry_of_line(std::string_view line);

// The `match` entries among `entries` in the auto-tuning results schema T4, version 1.0.0, which
// Kernel Tuner writes and its companions read: one result per challenger and problem, with the raw
// samples as runtimes in milliseconds. A challenger that never came to timing has one result
// without a problem. Throws Error naming the entry and the field that is malformed.
nlohmann::ordered_json to_t4(const std::vector<LedgerEntry>& entries);

}  // namespace thresher
