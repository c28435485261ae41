// SPDX-License-Identifier: Apache-2.0
// An entry's hash is the SHA-256 of the JSON array
//   [previous_hash,id,time_utc,season,kind,source,data]
// without spaces, `data` as it stands in the file. Whoever has SQLite and SHA-256 can check it.
#include "tank/ledger/ledger.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <ctime>
#include <limits>

#include "digest/sha256.hpp"
#include "tank/ledger/anchor.hpp"
#include "tank/ledger/ledger_file.hpp"
#include "tank/ledger/sqlite.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

using Json = nlohmann::json;
using sqlite::Statement;
using sqlite::Transaction;

// Walks over an entry's data recurse, and a file may come from anywhere.
constexpr int kDepthMax = 100;

std::string time_utc_now() {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     now.time_since_epoch().count() % 1000);
}

// Keys are sorted, numbers as short as they can be and still read back equal.
std::string canonical(const Json& json) {
  try {
    return json.dump();
  } catch (const Json::exception&) {
    throw Error("it holds text that is not UTF-8");
  }
}

std::string hash_of(const LedgerEntry& head, const std::string& data_text) {
  std::string message = canonical(Json::array(
      {head.previous_hash, head.id, head.time_utc, head.season, head.kind, head.source}));
  message.back() = ',';
  return sha256_hex(message + data_text + ']');
}

// Refuses what would not read back as it was.
void check_recordable(const Json& value, const std::string& path, int depth) {
  if (depth > kDepthMax) throw Error(fmt::format("{} is nested deeper than {}", path, kDepthMax));
  if (value.is_binary()) throw Error(fmt::format("{} holds bytes; write them as text", path));
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    throw Error(fmt::format("{} = {} is not finite", path, value.get<double>()));
  }
  if (!value.is_structured()) return;
  for (const auto& [key, item] : value.items()) {
    check_recordable(item, fmt::format("{}.{}", path, key), depth + 1);
  }
}

void check_recordable(const LedgerEntry& entry) {
  if (entry.season.empty()) throw Error("its season has no name");
  if (entry.kind.empty()) throw Error("its kind has no name");
  const bool predicted = entry.source == "predicted";
  if (!predicted && entry.source != "measured" && entry.source != "reported") {
    throw Error(
        fmt::format("source = {:?} is neither measured, reported nor predicted", entry.source));
  }
  const bool is_forecast = entry.kind == kForecastKind || entry.kind == kForecastsKind;
  if (predicted != is_forecast) {
    throw Error(fmt::format("a {} is not {}: what is predicted, and nothing else, is a forecast",
                            entry.kind, entry.source));
  }
  if (!entry.data.is_object()) throw Error("data is no JSON object");
  check_recordable(entry.data, "data", 0);
}

Json parse_data(const std::string& text) {
  const auto check_depth = [](int depth, Json::parse_event_t, const Json&) {
    if (depth > kDepthMax) throw Error(fmt::format("data is nested deeper than {}", kDepthMax));
    return true;
  };
  Json data = Json::parse(text, check_depth, /*allow_exceptions=*/false);
  if (!data.is_object()) throw Error("data is no JSON object");
  return data;
}

constexpr const char* kSelectEntries =
    "SELECT id, time_utc, season, kind, source, previous_hash, hash, data FROM entries "
    "WHERE ?1 IN ('', season) AND ?2 IN ('', kind) ORDER BY id";
constexpr int kDataColumn = 7;

// All of a row but its data.
LedgerEntry head_of(const Statement& row) {
  return {.id = row.integer(0),
          .time_utc = row.text(1),
          .season = row.text(2),
          .kind = row.text(3),
          .source = row.text(4),
          .previous_hash = row.text(5),
          .hash = row.text(6)};
}

// What is wrong with a row that should follow `previous`.
std::string fault_of(const Statement& row, const LedgerEntry& head, const LedgerEntry& previous) {
  if (head.id != previous.id + 1) {
    return fmt::format("entry {} is missing: entry {} follows entry {}", previous.id + 1, head.id,
                       previous.id);
  }
  try {
    const std::string data_text = row.text(kDataColumn);
    if (head.hash != hash_of(head, data_text)) {
      return fmt::format("entry {}: hash does not match its contents", head.id);
    }
    parse_data(data_text);
  } catch (const Error& error) {
    return fmt::format("entry {}: {}", head.id, error.what());
  }
  if (head.previous_hash != previous.hash) {
    return fmt::format("entry {}: does not carry the hash of entry {}", head.id, previous.id);
  }
  return {};
}

}  // namespace

const nlohmann::json& field(const Json& object, const char* name) {
  static const Json null;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found == object.end() ? null : *found;
}

std::string text_field(const Json& object, const char* name) {
  const Json& value = field(object, name);
  return value.is_string() ? value.get<std::string>() : "";
}

std::optional<double> number_field(const Json& object, const char* name) {
  const Json& value = field(object, name);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

bool flag_field(const Json& object, const char* name) { return field(object, name) == true; }

std::string entry_hash(const LedgerEntry& entry) { return hash_of(entry, canonical(entry.data)); }

struct Ledger::State {
  State(const std::filesystem::path& ledger_path, ReadLedger opened)
      : path(ledger_path), copy(std::move(opened.copy)), database(std::move(opened.database)) {}

  LedgerEntry last_entry() const {
    Statement row(database, "SELECT id, hash FROM entries ORDER BY id DESC LIMIT 1");
    if (!row.step()) return {.hash = kFirstPreviousHash};
    return {.id = row.integer(0), .hash = row.text(1)};
  }

  std::string file_fault() const {
    const std::string found = database.query_text("PRAGMA quick_check(1)");
    return found == "ok" ? "" : fmt::format("the file is damaged: {}", found);
  }

  std::string chain_fault(std::int64_t& entry_count) const {
    std::string first_fault;
    LedgerEntry previous{.hash = kFirstPreviousHash};
    Statement row(database, kSelectEntries);
    row.bind("").bind("");
    for (; row.step(); ++entry_count) {
      LedgerEntry head = head_of(row);
      if (first_fault.empty()) first_fault = fault_of(row, head, previous);
      previous = std::move(head);
    }
    const std::int64_t last_id_given =
        database.query_integer("SELECT seq FROM sqlite_sequence WHERE name = 'entries'");
    if (first_fault.empty() && last_id_given != previous.id) {
      return fmt::format("entry {} is missing: {} were written", previous.id + 1, last_id_given);
    }
    return first_fault;
  }

  // The entry that was noted outside the file must still be what it was.
  std::string anchor_fault(std::int64_t& anchored_id) const {
    const std::optional<LedgerAnchor> anchor = read_anchor(path);
    if (!anchor) return {};
    anchored_id = anchor->id;
    Statement row(database, "SELECT hash FROM entries WHERE id = ?");
    row.bind(anchor->id);
    const bool found = row.step();
    if (found && row.text(0) == anchor->hash) return {};
    return fmt::format(
        "entry {} {}: '{}' knows it; if this ledger was begun anew on purpose, remove that file",
        anchor->id, found ? "is another than was written" : "is missing",
        anchor_path(path).string());
  }

  std::string schema_fault() const {
    const std::string object = changed_schema_object(database);
    return object.empty() ? "" : fmt::format("the ledger's guard '{}' was changed", object);
  }

  std::filesystem::path path;
  std::shared_ptr<const void> copy;  // outlives the database that lies in it
  sqlite::Database database;
};

Ledger::Ledger(const std::filesystem::path& path, LedgerAccess access)
    : state_(std::make_unique<State>(path, access == LedgerAccess::kRead
                                               ? read_ledger_file(path)
                                               : ReadLedger{nullptr, open_ledger_file(path)})) {}
Ledger::Ledger(Ledger&&) noexcept = default;
Ledger::~Ledger() = default;

const std::filesystem::path& Ledger::path() const { return state_->path; }

LedgerEntry Ledger::append(const std::string& season, const std::string& kind,
                           const std::string& source, const nlohmann::json& data) {
  LedgerEntry entry{.season = season, .kind = kind, .source = source, .data = data};
  try {
    check_recordable(entry);
    const std::string data_text = canonical(data);
    Transaction transaction(state_->database, Transaction::Kind::kWrite);
    const LedgerEntry last = state_->last_entry();
    if (last.id == std::numeric_limits<std::int64_t>::max()) throw Error("the last id is taken");
    entry.id = last.id + 1;
    entry.time_utc = time_utc_now();
    entry.previous_hash = last.hash;
    entry.hash = hash_of(entry, data_text);
    insert_entry(state_->database, entry, data_text);
    transaction.commit();
    // An anchor that knows better stays where it is, and tells of it for good.
    std::int64_t ignored = 0;
    if (state_->anchor_fault(ignored).empty()) move_anchor(state_->path, {entry.id, entry.hash});
  } catch (const Error& error) {
    throw Error(fmt::format("cannot record the '{}' entry: {}", kind, error.what()));
  }
  return entry;
}

std::vector<LedgerEntry> Ledger::entries(const std::string& season, const std::string& kind) const {
  std::vector<LedgerEntry> found;
  Statement row(state_->database, kSelectEntries);
  row.bind(season).bind(kind);
  while (row.step()) {
    LedgerEntry entry = head_of(row);
    try {
      entry.data = parse_data(row.text(kDataColumn));
    } catch (const Error& error) {
      throw Error(fmt::format("ledger '{}', entry {}: {}; 'thresher ledger verify' says more",
                              path().string(), entry.id, error.what()));
    }
    found.push_back(std::move(entry));
  }
  return found;
}

std::vector<std::string> Ledger::seasons() const {
  std::vector<std::string> names;
  Statement row(state_->database, "SELECT season FROM entries GROUP BY season ORDER BY min(id)");
  while (row.step()) names.push_back(row.text(0));
  return names;
}

LedgerAudit Ledger::audit() const {
  LedgerAudit audit;
  try {
    const Transaction snapshot(state_->database, Transaction::Kind::kSnapshot);
    audit.first_fault = state_->file_fault();
    if (audit.first_fault.empty()) audit.first_fault = state_->chain_fault(audit.entry_count);
    if (audit.first_fault.empty()) audit.first_fault = state_->anchor_fault(audit.anchored_id);
    if (audit.first_fault.empty()) audit.first_fault = state_->schema_fault();
  } catch (const sqlite::Failure& failure) {
    if (!failure.is_damage()) throw;
    audit.first_fault = failure.what();
  }
  audit.ok = audit.first_fault.empty();
  return audit;
}

}  // namespace thresher
