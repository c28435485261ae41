// SPDX-License-Identifier: Apache-2.0
// The season in words: what came of it, from how much, and how it ended.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/season.hpp"

namespace thresher::report {
namespace {

std::string plural(std::size_t count, const std::string& one, const std::string& many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// "a, b and c"
Html listed(const std::vector<Html>& items) {
  Html html;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) html += i + 1 == items.size() ? " and " : ", ";
    html += items[i];
  }
  return html;
}

Html sentence_on_champion(const Season& season, const std::vector<Title>& titles) {
  const std::optional<Gain> gain = gain_of(season);
  const Html champion = titles.back().pitch;
  if (season.is_reported() || titles.back().is_reported) {
    return "Reported by others: " + champion + " took the title" +
           (gain ? " at " + speedup(gain->ratio.value) : Html());
  }
  if (!gain) return champion + " took the title";
  return "The champion is " + speedup(gain->ratio.value, 2) + " as fast as the baseline";
}

Html sentence(const Season& season) {
  const std::vector<Title> titles = season.titles();
  if (!titles.empty()) return sentence_on_champion(season, titles);
  if (season.board.rows.empty()) return "Nothing has been judged yet";
  if (season.is_reported()) return "Reported by others: no pitch took the title";
  return "No pitch has proven faster than the baseline";
}

// "NVIDIA H200", "suite tank_gpu", "15 rounds": what there is.
Html surroundings(const Season& season) {
  std::vector<Html> parts{"Season " + Html(season.name)};
  if (!season.board.device.empty()) parts.emplace_back(season.board.device);
  if (!season.board.suite.empty()) parts.push_back("suite " + Html(season.board.suite));
  if (const LedgerEntry* start = season.start(); start != nullptr && is_measured(*start)) {
    parts.emplace_back(start->time_utc.substr(0, 10));
  }
  Html line;
  for (const Html& part : parts) {
    line += element("span", part) + " ";
  }
  if (season.board.reported) line += source_badge("reported");
  return element("p", line, {{"class", "eyebrow"}}) + "\n";
}

// "2 accepted and 8 rejected": what was decided first, then what was not, then what else there is.
Html verdict_counts(const Season& season) {
  std::map<std::string, std::size_t> counts;
  for (const ScoreboardRow& row : season.board.rows) {
    ++counts[row.verdict.empty() ? "open" : row.verdict];
  }
  std::vector<Html> items;
  const auto take = [&](const std::string& kind) {
    if (const auto found = counts.extract(kind)) {
      items.push_back(fmt::format("{} ", found.mapped()) + Html(kind));
    }
  };
  for (const char* kind : {"accepted", "rejected", "unclear"}) take(kind);
  while (!counts.empty()) take(std::string(counts.begin()->first));
  return listed(items);
}

Html what_was_played(const Season& season) {
  const std::size_t pitch_count = season.of_kind("pitch").size();
  Html text = plural(pitch_count, "pitch", "pitches") + " entered";
  if (season.board.rows.empty()) return text + ". ";
  const bool any_open = std::any_of(season.board.rows.begin(), season.board.rows.end(),
                                    [](const ScoreboardRow& row) { return row.verdict == "open"; });
  const std::string count = any_open
                                ? plural(season.board.rows.size(), "outcome is", "outcomes are")
                                : plural(season.board.rows.size(), "verdict was", "verdicts were");
  return text + ", " + count + (any_open ? " known from " : " reached in ") +
         plural(season.rounds().size(), "round", "rounds") + ": " + verdict_counts(season) + ". ";
}

Html who_won(const Season& season) {
  std::vector<Html> items;
  for (const Title& title : season.titles()) {
    Html item = element("strong", title.pitch) + fmt::format(" in round {}", title.round);
    const Ratio ratio = title.verdict ? ratio_of(field(title.verdict->data, "speedup")) : Ratio();
    if (ratio.is_known()) item += " (" + result_of(title.verdict) + ")";
    items.push_back(item);
  }
  if (items.empty()) return {};
  return "The title went to " + listed(items) + ". ";
}

// Where nothing won: what came closest, and what kept it from winning.
Html what_came_closest(const Season& season) {
  const LedgerEntry* best = nullptr;
  double best_low = 0;
  for (const LedgerEntry* verdict : season.of_kind("verdict")) {
    const Ratio ratio = ratio_of(field(verdict->data, "speedup"));
    const bool is_faster = ratio.value && *ratio.value > 1 && ratio.low && *ratio.low > best_low;
    if (!is_measured(*verdict) || !is_faster) continue;
    best = verdict;
    best_low = *ratio.low;
  }
  if (best == nullptr || !season.titles().empty()) return {};
  return element("strong", text_of(best->data, "pitch")) + " came closest, at " + result_of(best) +
         ", and was " + text_of(best->data, "kind") + ": " + text_of(best->data, "reason") + ". ";
}

Html how_it_ended(const Season& season) {
  const LedgerEntry* end = season.end();
  if (season.is_reported()) return {};
  if (end == nullptr) return "The season has not ended.";
  const std::string reason = text_of(end->data, "reason");
  const std::optional<double> seconds = number_of(field(end->data, "match_seconds"));
  const Html after = seconds ? " after " + number(seconds, 0) + " s of matches" : Html();
  if (reason == "time") return "Its time was over" + after + ".";
  if (reason == "pitches") return "It ended when no pitch was left to play" + after + ".";
  if (reason == "rounds") return "It ended with its last round" + after + ".";
  return "It ended" + after + (reason.empty() ? Html() : ": " + Html(reason)) + ".";
}

}  // namespace

Html headline(const Season& season) {
  return surroundings(season) + heading(2, sentence(season)) +
         element("p",
                 what_was_played(season) + who_won(season) + what_came_closest(season) +
                     how_it_ended(season),
                 {{"class", "lede"}}) +
         "\n";
}

}  // namespace thresher::report
