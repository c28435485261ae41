// SPDX-License-Identifier: Apache-2.0
// thresher ledger: prove that the record is whole (verify), read it (show), hand it on (export).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/ledger_path.hpp"
#include "cli/table.hpp"
#include "spelling.hpp"
#include "tank/ledger/export.hpp"

namespace thresher::cli {
namespace {

constexpr std::size_t kSummaryWidth = 60;

struct LedgerOptions {
  std::filesystem::path ledger = kDefaultLedger;
  std::string season;
  std::string kind;
  std::string format = "json";
  std::filesystem::path output;
  std::string expected_hash;
  bool json = false;
};

constexpr std::size_t kExpectedLengthMin = 12;

// Which entry has the hash, or begins with it; 0: none.
std::int64_t entry_with_hash(const Ledger& ledger, const std::string& hash) {
  const bool is_hex = hash.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_hex || hash.size() < kExpectedLengthMin || hash.size() > 64) {
    throw UsageError(
        fmt::format("--expect {}: a hash is 64 hexadecimal digits, of which at least the first {} "
                    "are needed",
                    hash, kExpectedLengthMin));
  }
  for (const LedgerEntry& entry : ledger.entries()) {
    if (entry.hash.starts_with(hash)) return entry.id;
  }
  return 0;
}

// The head of the chain vouches for all of it: noted elsewhere, it uncovers even a ledger that was
// rewritten from the first entry on.
std::string last_hash(const Ledger& ledger) {
  const std::vector<LedgerEntry> entries = ledger.entries();
  return entries.empty() ? "" : entries.back().hash;
}

int run_verify(const LedgerOptions& options) {
  const Ledger ledger = open_existing_ledger(options.ledger);
  LedgerAudit audit = ledger.audit();
  std::int64_t expected_id = 0;
  if (!options.expected_hash.empty() && audit.ok) {
    expected_id = entry_with_hash(ledger, options.expected_hash);
    audit.ok = expected_id > 0;
    if (!audit.ok) {
      audit.first_fault = fmt::format(
          "no entry has the expected hash {}: it is another ledger, or it was rewritten or cut",
          options.expected_hash);
    }
  }
  const std::string hash = audit.ok ? last_hash(ledger) : "";
  if (options.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"ledger", options.ledger.string()},
                                              {"ok", audit.ok},
                                              {"entry_count", audit.entry_count},
                                              {"first_fault", audit.first_fault},
                                              {"anchored_entry", audit.anchored_id},
                                              {"expected_entry", expected_id},
                                              {"last_hash", hash}}
                           .dump());
  } else if (audit.ok) {
    fmt::print("{}: {} entries, none changed, none missing\n", options.ledger.string(),
               audit.entry_count);
    fmt::print("{}\n", audit.anchored_id > 0
                           ? fmt::format("its anchor vouches for the first {}", audit.anchored_id)
                           : "no anchor lies beside it: entries cut off at the end would not be "
                             "noticed");
    if (expected_id > 0) fmt::print("the expected hash is that of entry {}\n", expected_id);
    if (!hash.empty()) fmt::print("last hash {}\n", hash);
  } else {
    fmt::print("{}: {}\n", options.ledger.string(), audit.first_fault);
  }
  return audit.ok ? kExitOk : kExitFailure;
}

// The plain values of an entry, as far as a line holds them. JSON escapes what a terminal would
// obey.
std::string summary_of(const nlohmann::json& data) {
  std::string summary;
  for (const auto& [key, value] : data.items()) {
    if (value.is_structured() || value.is_null()) continue;
    summary += fmt::format("{}{}={}", summary.empty() ? "" : " ", key,
                           value.dump(-1, ' ', /*ensure_ascii=*/true));
  }
  if (summary.size() <= kSummaryWidth) return summary;
  return summary.substr(0, kSummaryWidth) + "...";
}

void print_table(const std::vector<LedgerEntry>& entries) {
  Table table({{"id", Align::kRight}, {"time (UTC)"}, {"season"}, {"kind"}, {"source"}, {"data"}});
  for (const LedgerEntry& entry : entries) {
    table.add_row({fmt::format("{}", entry.id), entry.time_utc, entry.season, entry.kind,
                   entry.source, summary_of(entry.data)});
  }
  print(table);
}

// Likewise a kind of entry, where there are others.
void throw_unknown_kind(const Ledger& ledger, const LedgerOptions& options) {
  std::set<std::string> kinds;
  for (const LedgerEntry& entry : ledger.entries(options.season)) kinds.insert(entry.kind);
  if (kinds.empty()) return;
  throw UsageError(fmt::format("no entry is of kind '{}'; there are {}{}", options.kind,
                               fmt::join(kinds, ", "), did_you_mean(options.kind, kinds)));
}

// A season that is not there is more likely misspelt than empty.
std::vector<LedgerEntry> select_entries(const Ledger& ledger, const LedgerOptions& options) {
  const std::vector<std::string> seasons = ledger.seasons();
  const bool known = std::find(seasons.begin(), seasons.end(), options.season) != seasons.end();
  if (!options.season.empty() && !known) {
    throw UsageError(fmt::format(
        "ledger '{}' has no season '{}'; it has: {}{}", options.ledger.string(), options.season,
        seasons.empty() ? "none" : fmt::to_string(fmt::join(seasons, ", ")),
        did_you_mean(options.season, seasons)));
  }
  std::vector<LedgerEntry> entries = ledger.entries(options.season, options.kind);
  if (entries.empty() && !options.kind.empty()) throw_unknown_kind(ledger, options);
  return entries;
}

int run_show(const LedgerOptions& options) {
  const std::vector<LedgerEntry> entries =
      select_entries(open_existing_ledger(options.ledger), options);
  if (!options.json) {
    print_table(entries);
    return kExitOk;
  }
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const LedgerEntry& entry : entries) list.push_back(to_ordered_json(entry));
  fmt::print("{}\n", nlohmann::ordered_json{{"ledger", options.ledger.string()},
                                            {"entries", std::move(list)}}
                         .dump());
  return kExitOk;
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text << std::flush;
  if (!file) {
    throw Error(fmt::format(
        "cannot write '{}'; is the folder there, writable, and the disk not full?", path.string()));
  }
}

int run_export(const LedgerOptions& options) {
  const std::vector<LedgerEntry> entries =
      select_entries(open_existing_ledger(options.ledger), options);
  const std::string text =
      options.format == "t4" ? to_t4(entries).dump() + '\n' : to_json_lines(entries);
  if (options.output.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return kExitOk;
  }
  std::error_code error;
  if (std::filesystem::equivalent(options.output, options.ledger, error)) {
    throw UsageError(fmt::format("'{}' is the ledger itself; write the export to another file",
                                 options.output.string()));
  }
  write_file(options.output, text);
  return kExitOk;
}

Option season_option(LedgerOptions& options) {
  return {"--season", &options.season, "Only this season"};
}

}  // namespace

Command ledger_command() {
  const auto options = std::make_shared<LedgerOptions>();
  const Command verify{
      .name = "verify",
      .what = "Recompute the chain of hashes; exit code 1 if an entry was changed or is missing",
      .options = {ledger_option(options->ledger),
                  {"--expect", &options->expected_hash,
                   "A hash that was noted earlier: some entry must have it"},
                  json_flag(options->json)},
      .run = [options] { return run_verify(*options); }};
  const Command show{
      .name = "show",
      .what = "List entries",
      .options = {ledger_option(options->ledger),
                  season_option(*options),
                  {"--kind", &options->kind, "Only entries of this kind: match, verdict, ..."},
                  json_flag(options->json)},
      .run = [options] { return run_show(*options); }};
  const Command write{
      .name = "export",
      .what = "Write all entries, or all matches, as JSON",
      .options = {ledger_option(options->ledger),
                  season_option(*options),
                  {.name = "--format",
                   .value = &options->format,
                   .what = "json: one entry per line; t4: matches in Kernel Tuner's results schema",
                   .words = {"json", "t4"}},
                  {.name = "--output",
                   .value = &options->output,
                   .what = "The file to write",
                   .default_text = "standard output"}},
      .run = [options] { return run_export(*options); }};
  return {.name = "ledger",
          .what = "The tournament's record: prove it whole, read it, export it",
          .commands = {verify, show, write}};
}

}  // namespace thresher::cli
