// SPDX-License-Identifier: Apache-2.0
// As much of SQLite as the ledger needs: a database, a statement, a transaction. Whatever SQLite
// refuses becomes a Failure that names the file and says what to do about it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "thresher/error.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace thresher::sqlite {

class Failure : public Error {
 public:
  Failure(int code, const std::string& message) : Error(message), code_(code) {}

  bool is_busy() const;     // another process holds the lock
  bool is_refusal() const;  // the rights to a file or its folder do not suffice
  bool is_damage() const;   // the file's contents are not what we wrote

 private:
  int code_;
};

enum class OpenMode : std::uint8_t {
  kWrite,   // reads and writes, and creates the file with the folders above it
  kRead,    // for a file that is there; needs no right to write, but the files beside it
  kFrozen,  // likewise without them, for a file that nobody changes meanwhile
};

class Database {
 public:
  // A locked file is waited for as long as `patience`.
  Database(const std::filesystem::path& path, std::chrono::milliseconds patience,
           OpenMode mode = OpenMode::kWrite);

  // Any number of statements without results.
  void execute(const char* statements) const;
  // The first value a query finds; 0 or "" if none.
  std::int64_t query_integer(const char* query) const;
  std::string query_text(const char* query) const;

 private:
  friend class Statement;
  friend class Transaction;
  struct Close {
    void operator()(sqlite3* handle) const;
  };

  void check_place(const std::filesystem::path& path, OpenMode mode) const;
  // Throws what SQLite's last call complained about.
  [[noreturn]] void fail() const;
  [[noreturn]] void fail(int code, const char* sqlite_says) const;

  std::string name_;  // of the file, for messages
  std::unique_ptr<sqlite3, Close> handle_;
};

// One prepared statement; parameters are bound in the order of the calls. Bound text is not copied:
// it must live until the last step.
class Statement {
 public:
  Statement(const Database& database, const char* query);

  Statement& bind(std::int64_t value);
  Statement& bind(std::string_view text);

  bool step();  // to the next row; false: there is none
  std::int64_t integer(int column) const;
  std::string text(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const;
  };

  const Database& database_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
  int bound_count_ = 0;
};

// From construction to commit(); without that, all of it is taken back.
class Transaction {
 public:
  enum class Kind {
    kSnapshot,  // reads see one state, whatever others append meanwhile
    kWrite,     // nobody else writes between our first read and our commit
  };

  Transaction(const Database& database, Kind kind);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  void commit();

 private:
  const Database& database_;
};

}  // namespace thresher::sqlite
