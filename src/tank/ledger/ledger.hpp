// SPDX-License-Identifier: Apache-2.0
// The ledger: SQLite in WAL mode, append-only, every entry carrying the hash of the one before.
//
// An entry is a kind and a JSON object. Appending is one transaction: a kill at any moment loses at
// most the entry being written, and two processes on one ledger take turns. docs/ledger.md lists
// the kinds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace thresher {

struct LedgerEntry {
  std::int64_t id = 0;   // 1, 2, 3 ...
  std::string time_utc;  // ISO 8601
  std::string season;    // "seeds", "2026-04-01-a" ...
  std::string kind;      // "season", "pitch", "ballot", "seal", "match", "verdict" ...
  std::string source;    // "measured", "reported" or "predicted"
  nlohmann::json data;
  std::string previous_hash;  // hex SHA-256
  std::string hash;
};

// The kinds of entries that are predicted, and no others are: a forecast, and the entry behind all
// of them, which says what they rest on and has the hash of their data.
inline constexpr const char* kForecastKind = "forecast";
inline constexpr const char* kForecastsKind = "forecasts";

struct LedgerAudit {
  bool ok = true;
  std::int64_t entry_count = 0;
  std::string first_fault;       // "entry 17: hash does not match its contents"
  std::int64_t anchored_id = 0;  // the entry that the anchor vouches for (anchor.hpp); 0: no anchor
};

// A ledger to read is there, and need not be writable.
enum class LedgerAccess : std::uint8_t { kWrite, kRead };

class Ledger {
 public:
  // Opens or creates. Throws Error when the file is no ledger, cannot be written, or the disk is
  // full.
  explicit Ledger(const std::filesystem::path& path, LedgerAccess access = LedgerAccess::kWrite);
  Ledger(Ledger&&) noexcept;
  ~Ledger();

  LedgerEntry append(const std::string& season, const std::string& kind, const std::string& source,
                     const nlohmann::json& data);
  // In order of id; empty season or kind means any.
  std::vector<LedgerEntry> entries(const std::string& season = {},
                                   const std::string& kind = {}) const;
  std::vector<std::string> seasons() const;  // in order of their first entry
  LedgerAudit audit() const;
  const std::filesystem::path& path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Fields of an entry's data. Ledgers may come from elsewhere, so nothing is taken for granted: what
// is not there, or is of another type, reads as null, as no text, as no number, as false.
const nlohmann::json& field(const nlohmann::json& object, const char* name);
std::string text_field(const nlohmann::json& object, const char* name);
std::optional<double> number_field(const nlohmann::json& object, const char* name);
bool flag_field(const nlohmann::json& object, const char* name);

// What the first entry carries for the hash of the one before.
inline constexpr const char* kFirstPreviousHash =
    "0000000000000000000000000000000000000000000000000000000000000000";

// The hash of an entry: over previous hash, id, time, season, kind, source and canonical data.
std::string entry_hash(const LedgerEntry& entry);

}  // namespace thresher
