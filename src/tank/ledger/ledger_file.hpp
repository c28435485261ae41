// SPDX-License-Identifier: Apache-2.0
// The ledger as a file: how it is recognised, created and guarded against changes.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "tank/ledger/ledger.hpp"
#include "tank/ledger/sqlite.hpp"

namespace thresher {

// Opens a ledger, or makes one where there is nothing. Writes to no file that is not a ledger.
sqlite::Database open_ledger_file(const std::filesystem::path& path);

// A ledger that only has to be read, on whatever rights there are.
struct ReadLedger {
  std::shared_ptr<const void> copy;  // holds the folder of a copy, where one had to be made
  sqlite::Database database;
};

// What `ledger export` wrote is read like the ledger it came from: entry by entry into a database
// of its own, unchecked, so that an audit finds there what it would have found in the ledger.
// Otherwise, where file and folder can be written this is open_ledger_file: SQLite tidies up then.
// Where they cannot, entries that a killed writer left beside the file are seen all the same.
ReadLedger read_ledger_file(const std::filesystem::path& path);

// The row of an entry; its data as the text that was hashed.
void insert_entry(const sqlite::Database& database, const LedgerEntry& entry,
                  const std::string& data_text);

// The first table or trigger that is not as we made it; empty if all are. Without its triggers a
// ledger is no longer append-only.
std::string changed_schema_object(const sqlite::Database& database);

}  // namespace thresher
