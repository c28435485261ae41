// SPDX-License-Identifier: Apache-2.0
// What somebody with the sqlite3 command can do to a ledger.
#pragma once

#include <sqlite3.h>

#include <filesystem>
#include <string>

namespace thresher::testing {

// Runs SQL on any database; returns SQLite's complaint, or "ok".
inline std::string raw_sql(const std::filesystem::path& path, const std::string& statements) {
  sqlite3* database = nullptr;
  std::string outcome = "ok";
  if (sqlite3_open(path.c_str(), &database) != SQLITE_OK ||
      sqlite3_exec(database, statements.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    outcome = sqlite3_errmsg(database);
  }
  sqlite3_close(database);
  return outcome;
}

inline constexpr const char* kDropGuards =
    "DROP TRIGGER entries_never_change; DROP TRIGGER entries_never_leave;"
    "DROP TRIGGER entries_only_follow;";

}  // namespace thresher::testing
