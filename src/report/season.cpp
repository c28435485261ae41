// SPDX-License-Identifier: Apache-2.0
#include "report/season.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "report/variant_words.hpp"

namespace thresher::report {
namespace {

using Json = nlohmann::json;

std::optional<std::int64_t> id_in(const LedgerEntry& entry, const char* key) {
  const std::optional<double> id = number_of(field(entry.data, key));
  if (!id || !(std::abs(*id) < 1e15)) return std::nullopt;
  return static_cast<std::int64_t>(*id);
}

// A match that went on is told once, as its last stretch left it.
void drop_continued(std::vector<LedgerEntry>& entries) {
  std::set<std::int64_t> continued;
  for (const LedgerEntry& entry : entries) {
    const std::optional<std::int64_t> id = id_in(entry, "continues");
    if (entry.kind == "match" && id) continued.insert(*id);
  }
  std::erase_if(entries, [&](const LedgerEntry& entry) {
    if (entry.kind == "match") return continued.contains(entry.id);
    const std::optional<std::int64_t> match = id_in(entry, "match");
    return entry.kind == "verdict" && match && continued.contains(*match);
  });
}

}  // namespace

Ratio ratio_of(const Range& range) {
  return {.value = range.value, .low = range.low, .high = range.high};
}

Season read_season(const Ledger& ledger, const std::string& name) {
  Season season{.name = name, .entries = ledger.entries(name), .board = scoreboard(ledger, name)};
  drop_continued(season.entries);
  return season;
}

std::vector<const LedgerEntry*> Season::of_kind(const std::string& kind) const {
  std::vector<const LedgerEntry*> found;
  for (const LedgerEntry& entry : entries) {
    if (entry.kind == kind) found.push_back(&entry);
  }
  return found;
}

std::vector<const LedgerEntry*> Season::of_round(const std::string& kind, int round) const {
  std::vector<const LedgerEntry*> found = of_kind(kind);
  std::erase_if(found, [&](const LedgerEntry* entry) { return round_of(*entry) != round; });
  return found;
}

std::vector<int> Season::rounds() const {
  std::set<int> numbers;
  for (const LedgerEntry& entry : entries) {
    const bool belongs = entry.kind == "round" || entry.kind == "verdict" ||
                         entry.kind == "ballot" || entry.kind == "match";
    if (belongs) numbers.insert(round_of(entry));
  }
  return {numbers.begin(), numbers.end()};
}

const LedgerEntry* Season::start() const {
  const std::vector<const LedgerEntry*> starts = of_kind("season");
  return starts.empty() ? nullptr : starts.front();
}

const LedgerEntry* Season::end() const {
  const std::vector<const LedgerEntry*> ends = of_kind("end");
  return ends.empty() ? nullptr : ends.back();
}

const LedgerEntry* Season::pitch(const std::string& pitch_name) const {
  for (const LedgerEntry* entry : of_kind("pitch")) {
    if (text_of(entry->data, "name") == pitch_name) return entry;
  }
  return nullptr;
}

const LedgerEntry* Season::verdict(int round, const std::string& pitch_name) const {
  const LedgerEntry* last = nullptr;
  for (const LedgerEntry* entry : of_round("verdict", round)) {
    if (text_of(entry->data, "pitch") == pitch_name) last = entry;
  }
  return last;
}

const LedgerEntry* Season::match(const LedgerEntry& of_verdict) const {
  const std::optional<double> id = number_of(field(of_verdict.data, "match"));
  if (!id) return nullptr;
  for (const LedgerEntry* entry : of_kind("match")) {
    if (static_cast<double>(entry->id) == *id) return entry;
  }
  return nullptr;
}

std::vector<Title> Season::titles() const {
  std::vector<Title> found;
  for (const LedgerEntry* entry : of_kind("champion")) {
    Title title{.round = round_of(*entry),
                .pitch = text_of(entry->data, "pitch"),
                .champion = text_of(entry->data, "champion"),
                .is_reported = !is_measured(*entry)};
    title.words = turned_words(title.champion, start() ? field(start()->data, "knobs") : Json(),
                               field(entry->data, "knobs"));
    if (title.pitch.empty()) title.pitch = title.champion;
    title.verdict = verdict(title.round, title.pitch);
    if (title.verdict && !is_measured(*title.verdict)) title.is_reported = true;
    found.push_back(title);
  }
  return found;
}

bool Season::took_title(int round, const std::string& pitch_name) const {
  const std::vector<Title> all = titles();
  return std::any_of(all.begin(), all.end(), [&](const Title& title) {
    return title.round == round && title.pitch == pitch_name;
  });
}

bool Season::is_reported() const {
  return !entries.empty() && std::none_of(entries.begin(), entries.end(), is_measured);
}

}  // namespace thresher::report
