// SPDX-License-Identifier: Apache-2.0
#include "report/season.hpp"

#include <set>

#include "report/values.hpp"

namespace thresher::report {

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
    const bool belongs = entry.kind == "round" || entry.kind == "verdict" || entry.kind == "ballot";
    if (belongs) numbers.insert(round_of(entry));
  }
  return {numbers.begin(), numbers.end()};
}

const LedgerEntry* Season::start() const {
  const std::vector<const LedgerEntry*> starts = of_kind("season");
  return starts.empty() ? nullptr : starts.front();
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

}  // namespace thresher::report
