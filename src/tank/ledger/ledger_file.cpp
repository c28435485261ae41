// SPDX-License-Identifier: Apache-2.0
#include "tank/ledger/ledger_file.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <thread>

#include "tank/ledger/export.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

namespace fs = std::filesystem;

using sqlite::Database;
using sqlite::OpenMode;
using sqlite::Statement;
using sqlite::Transaction;

constexpr std::int64_t kApplicationId = 0x54485253;  // "THRS", in the file's header
constexpr std::int64_t kSchemaVersion = 1;
// A locked ledger is one that others append to, each for milliseconds.
constexpr std::chrono::seconds kPatience{30};

struct SchemaObject {
  const char* name;
  const char* sql;  // to the letter as SQLite keeps it, so that it can be compared
};

// AUTOINCREMENT remembers the last id ever given, which uncovers a missing tail. `data` can be long
// and stands last, so that looking for a kind does not read it.
constexpr SchemaObject kSchema[] = {
    {"entries",
     "CREATE TABLE entries(id INTEGER PRIMARY KEY AUTOINCREMENT, time_utc TEXT NOT NULL, "
     "season TEXT NOT NULL, kind TEXT NOT NULL, source TEXT NOT NULL, "
     "previous_hash TEXT NOT NULL, hash TEXT NOT NULL, data TEXT NOT NULL) STRICT"},
    {"entries_never_change",
     "CREATE TRIGGER entries_never_change BEFORE UPDATE ON entries "
     "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"},
    {"entries_never_leave",
     "CREATE TRIGGER entries_never_leave BEFORE DELETE ON entries "
     "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"},
    // INSERT OR REPLACE deletes without asking the trigger above.
    {"entries_only_follow",
     "CREATE TRIGGER entries_only_follow BEFORE INSERT ON entries "
     "WHEN NEW.id <> (SELECT coalesce(max(id), 0) + 1 FROM entries) "
     "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"},
};

// Nothing yet, or what a kill left behind before it became a ledger.
bool is_blank(const Database& database) {
  return database.query_integer("PRAGMA application_id") == 0 &&
         database.query_integer("PRAGMA user_version") == 0 &&
         database.query_integer("SELECT count(*) FROM sqlite_schema") == 0;
}

void create_schema(const Database& database) {
  Transaction transaction(database, Transaction::Kind::kWrite);
  if (!is_blank(database)) return;  // another process was faster
  for (const SchemaObject& object : kSchema) database.execute(object.sql);
  database.execute(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str());
  database.execute(fmt::format("PRAGMA user_version = {}", kSchemaVersion).c_str());
  transaction.commit();
}

void check_identity(const Database& database, const std::filesystem::path& path) {
  if (database.query_integer("PRAGMA application_id") != kApplicationId) {
    throw Error(fmt::format("ledger '{}': it is another program's database; choose another file",
                            path.string()));
  }
  const std::int64_t version = database.query_integer("PRAGMA user_version");
  if (version == kSchemaVersion) return;
  throw Error(
      fmt::format("ledger '{}': its version is {}, this thresher knows version {}; use the "
                  "thresher that wrote it",
                  path.string(), version, kSchemaVersion));
}

// The mode stays with the file, so this changes something only once. SQLite does not wait for the
// lock it needs here, and two processes may create a ledger together.
void switch_to_wal(const Database& database, const std::filesystem::path& path) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    try {
      if (database.query_text("PRAGMA journal_mode = WAL") == "wal") return;
      throw Error(
          fmt::format("ledger '{}': its file system lets no two processes share memory; "
                      "put it on a local disk",
                      path.string()));
    } catch (const sqlite::Failure& failure) {
      if (!failure.is_busy() || std::chrono::steady_clock::now() > deadline) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
}

bool can_write(const fs::path& path) { return access(path.c_str(), W_OK) == 0; }

// What SQLite keeps beside a ledger while somebody writes to it, and after a writer was killed.
fs::path beside(const fs::path& path, const char* ending) { return path.string() + ending; }

bool holds_something(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  return !error && bytes > 0;
}

// A folder of our own, gone with the last who reads there.
std::shared_ptr<const fs::path> make_folder() {
  std::string name = (fs::temp_directory_path() / "thresher-ledger-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw Error(fmt::format("cannot make a folder in {}: {}", fs::temp_directory_path().string(),
                            std::strerror(errno)));
  }
  return {new fs::path(name), [](const fs::path* folder) {
            std::error_code ignored;
            fs::remove_all(*folder, ignored);
            delete folder;
          }};
}

// The file with what was not yet moved into it. Only writers keep the third file, and there is
// none, so nothing changes while it is copied.
ReadLedger read_copy(const fs::path& path) {
  const std::shared_ptr<const fs::path> folder = make_folder();
  const fs::path copy = *folder / path.filename();
  std::error_code error;
  fs::copy_file(path, copy, error);
  if (!error) fs::copy_file(beside(path, "-wal"), beside(copy, "-wal"), error);
  if (error) {
    throw Error(fmt::format("ledger '{}': cannot be read: {}", path.string(), error.message()));
  }
  fs::permissions(copy, fs::perms::owner_read | fs::perms::owner_write, error);
  fs::permissions(beside(copy, "-wal"), fs::perms::owner_read | fs::perms::owner_write, error);
  return {folder, Database(copy, kPatience)};
}

bool is_export(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && std::ifstream(path).peek() == '{';
}

// What `ledger export` wrote. The guard against gaps is that of every ledger.
void take_lines(const Database& database, const fs::path& path) {
  Transaction transaction(database, Transaction::Kind::kWrite);
  std::ifstream file(path);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty()) continue;
    try {
      const LedgerEntry entry = entry_of_line(line);
      insert_entry(database, entry, entry.data.dump());
    } catch (const sqlite::Failure&) {
      throw Error(
          fmt::format("ledger '{}', line {}: it does not follow the entry before; export all "
                      "entries, without --season and --kind",
                      path.string(), number));
    } catch (const Error& error) {
      throw Error(fmt::format("ledger '{}', line {}: {}", path.string(), number, error.what()));
    }
  }
  transaction.commit();
}

ReadLedger read_export(const fs::path& path) {
  const std::shared_ptr<const fs::path> folder = make_folder();
  Database database(*folder / "exported.db", kPatience);
  create_schema(database);
  take_lines(database, path);
  return {folder, std::move(database)};
}

// With a writer at work its files are there to be shared. Without one SQLite would make them, which
// it may not here; then the file stands still, alone or with a rest beside it.
ReadLedger open_unwritable(const fs::path& path) {
  try {
    Database database(path, kPatience, OpenMode::kRead);
    database.query_integer("SELECT count(*) FROM sqlite_schema");
    return {nullptr, std::move(database)};
  } catch (const sqlite::Failure& failure) {
    if (!failure.is_refusal()) throw;
  }
  if (access(path.c_str(), R_OK) != 0) {
    throw Error(fmt::format("ledger '{}': it cannot be read; check the permissions of the file",
                            path.string()));
  }
  if (holds_something(beside(path, "-wal"))) return read_copy(path);
  return {nullptr, Database(path, kPatience, OpenMode::kFrozen)};
}

}  // namespace

ReadLedger read_ledger_file(const fs::path& path) {
  if (is_export(path)) return read_export(path);
  const fs::path folder = fs::absolute(path).parent_path();
  if (can_write(path) && can_write(folder)) return {nullptr, open_ledger_file(path)};
  ReadLedger ledger = open_unwritable(path);
  check_identity(ledger.database, path);
  return ledger;
}

Database open_ledger_file(const std::filesystem::path& path) {
  Database database(path, kPatience);
  if (is_blank(database)) create_schema(database);
  check_identity(database, path);
  switch_to_wal(database, path);
  // In WAL mode it takes FULL for a commit to be on the disk when it returns.
  database.execute("PRAGMA synchronous = FULL");
  return database;
}

void insert_entry(const Database& database, const LedgerEntry& entry,
                  const std::string& data_text) {
  Statement statement(database,
                      "INSERT INTO entries(id, time_utc, season, kind, source, previous_hash, "
                      "hash, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  statement.bind(entry.id).bind(entry.time_utc).bind(entry.season).bind(entry.kind);
  statement.bind(entry.source).bind(entry.previous_hash).bind(entry.hash).bind(data_text);
  statement.step();
}

std::string changed_schema_object(const Database& database) {
  for (const SchemaObject& object : kSchema) {
    Statement statement(database, "SELECT sql FROM sqlite_schema WHERE name = ?");
    statement.bind(object.name);
    if (!statement.step() || statement.text(0) != object.sql) return object.name;
  }
  return {};
}

}  // namespace thresher
