// SPDX-License-Identifier: Apache-2.0
// The anchor of a ledger: a line beside the file that says which entry was the last to be written.
//
// Hashes chain every entry to the one before, so nothing in the middle can change unnoticed; but
// whoever cuts a chain at its end, or takes all of it, leaves a chain that is whole. The anchor
// still knows the entry that is missing. It is behind the ledger after a kill at the wrong moment
// and never ahead. Who changes ledger and anchor alike is found out by a hash that somebody else
// has kept (`thresher ledger verify --expect`).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace thresher {

struct LedgerAnchor {
  std::int64_t id = 0;
  std::string hash;
};

std::filesystem::path anchor_path(const std::filesystem::path& ledger);

// Nothing where there is none, or none that can be read.
std::optional<LedgerAnchor> read_anchor(const std::filesystem::path& ledger);

// Moves the anchor forward, never back. What cannot be written is no reason to fail: the entry
// stands in the ledger already.
void move_anchor(const std::filesystem::path& ledger, const LedgerAnchor& anchor);

}  // namespace thresher
