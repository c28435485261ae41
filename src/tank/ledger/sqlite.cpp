// SPDX-License-Identifier: Apache-2.0
#include "tank/ledger/sqlite.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <new>
#include <system_error>

namespace thresher::sqlite {
namespace {

namespace fs = std::filesystem;

// The low byte is the kind of failure, the rest its circumstances.
int kind_of(int code) { return code & 0xff; }

std::string what_to_do(int code, const std::string& sqlite_says) {
  switch (kind_of(code)) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another process keeps it locked; wait until that has finished, then try again";
    case SQLITE_FULL:
      return "the disk is full; make room, then try again. What was recorded before is safe";
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return "it cannot be written; check the permissions of the file and its folder, or choose "
             "another place";
    case SQLITE_NOTADB:
      return "it is no ledger; choose another file";
    case SQLITE_CORRUPT:
      return fmt::format("the file is damaged ({}); keep a copy of it, then restore a backup",
                         sqlite_says);
    case SQLITE_IOERR:
      return "the disk cannot be read or written; look at its free space, quota and health, then "
             "try again. What was recorded before is safe";
    case SQLITE_ERROR:
      return fmt::format("it was changed by another program ({}); restore a backup", sqlite_says);
    default:
      return sqlite_says;
  }
}

// No database is smaller, but SQLite takes a single byte of somebody's for an empty one.
constexpr std::uintmax_t kFileBytesMin = 512;

// What SQLite is asked to open: a plain name, or where only a URI can say it, that.
std::string target_of(const fs::path& absolute, OpenMode mode) {
  if (mode != OpenMode::kFrozen) return absolute.string();
  std::string uri = "file:";
  for (const char c : absolute.string()) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02X}", static_cast<unsigned>(c));
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

int flags_of(OpenMode mode) {
  if (mode == OpenMode::kWrite) {
    return SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXRESCODE;
  }
  return SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE;
}

}  // namespace

bool Failure::is_busy() const { return kind_of(code_) == SQLITE_BUSY; }

bool Failure::is_refusal() const {
  const int kind = kind_of(code_);
  return kind == SQLITE_READONLY || kind == SQLITE_PERM || kind == SQLITE_CANTOPEN;
}

bool Failure::is_damage() const {
  // Our statements are fixed: one that is refused found another schema than ours.
  const int kind = kind_of(code_);
  return kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB || kind == SQLITE_ERROR;
}

void Database::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
void Statement::Finalize::operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }

Database::Database(const fs::path& path, std::chrono::milliseconds patience, OpenMode mode)
    : name_(path.string()) {
  // An absolute path is never one of SQLite's special names, such as ":memory:".
  const fs::path absolute = path.empty() ? path : fs::absolute(path);
  check_place(absolute, mode);
  sqlite3* handle = nullptr;
  const std::string target = target_of(absolute, mode);
  const int code = sqlite3_open_v2(target.c_str(), &handle, flags_of(mode), nullptr);
  handle_.reset(handle);  // there is one even when opening failed
  if (code != SQLITE_OK) fail();
  const bool is_read_only = sqlite3_db_readonly(handle, "main") == 1;
  if (mode == OpenMode::kWrite && is_read_only) fail(SQLITE_READONLY, "");
  sqlite3_busy_timeout(handle, static_cast<int>(patience.count()));
  // The file may come from anywhere: its schema gets no say in what our statements do.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  execute("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON");
}

void Database::check_place(const fs::path& path, OpenMode mode) const {
  if (path.empty()) throw Error("ledger '': name a file");
  std::error_code error;
  if (mode == OpenMode::kWrite) fs::create_directories(path.parent_path(), error);
  if (error) {
    throw Error(fmt::format("ledger '{}': cannot make its folder: {}; choose another place", name_,
                            error.message()));
  }
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return;
  // SQLite would wait for a pipe and has little to say about a folder.
  if (!fs::is_regular_file(status)) {
    throw Error(fmt::format("ledger '{}': it is no file; name a file", name_));
  }
  const std::uintmax_t size = fs::file_size(path, error);
  if (size > 0 && size < kFileBytesMin) fail(SQLITE_NOTADB, "");
}

void Database::fail() const {
  const int code = sqlite3_extended_errcode(handle_.get());
  if (handle_ == nullptr || kind_of(code) == SQLITE_NOMEM) throw std::bad_alloc();
  fail(code, sqlite3_errmsg(handle_.get()));
}

void Database::fail(int code, const char* sqlite_says) const {
  throw Failure(code, fmt::format("ledger '{}': {}", name_, what_to_do(code, sqlite_says)));
}

void Database::execute(const char* statements) const {
  if (sqlite3_exec(handle_.get(), statements, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

std::int64_t Database::query_integer(const char* query) const {
  Statement statement(*this, query);
  return statement.step() ? statement.integer(0) : 0;
}

std::string Database::query_text(const char* query) const {
  Statement statement(*this, query);
  return statement.step() ? statement.text(0) : std::string();
}

Statement::Statement(const Database& database, const char* query) : database_(database) {
  sqlite3_stmt* handle = nullptr;
  const int code = sqlite3_prepare_v2(database.handle_.get(), query, -1, &handle, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) database.fail();
}

Statement& Statement::bind(std::int64_t value) {
  if (sqlite3_bind_int64(handle_.get(), ++bound_count_, value) != SQLITE_OK) database_.fail();
  return *this;
}

Statement& Statement::bind(std::string_view text) {
  // A null pointer would bind NULL instead of the empty text.
  const char* data = text.empty() ? "" : text.data();
  const int code = sqlite3_bind_text64(handle_.get(), ++bound_count_, data, text.size(),
                                       SQLITE_STATIC, SQLITE_UTF8);
  if (code != SQLITE_OK) database_.fail();
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(handle_.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) database_.fail();
  return code == SQLITE_ROW;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(handle_.get(), column);
}

std::string Statement::text(int column) const {
  const unsigned char* data = sqlite3_column_text(handle_.get(), column);
  if (data == nullptr) return {};
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column));
  return {reinterpret_cast<const char*>(data), size};
}

Transaction::Transaction(const Database& database, Kind kind) : database_(database) {
  database.execute(kind == Kind::kWrite ? "BEGIN IMMEDIATE" : "BEGIN DEFERRED");
}

Transaction::~Transaction() {
  // Committed, or taken back by SQLite itself after an error: nothing is open any more.
  sqlite3* handle = database_.handle_.get();
  if (sqlite3_get_autocommit(handle) == 0) {
    sqlite3_exec(handle, "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

void Transaction::commit() { database_.execute("COMMIT"); }

}  // namespace thresher::sqlite
