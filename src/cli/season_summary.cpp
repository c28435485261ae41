// SPDX-License-Identifier: Apache-2.0
#include "cli/season_summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "cli/ledger_path.hpp"
#include "cli/terminal.hpp"
#include "referee/statistics/json.hpp"
#include "tank/season/overtime.hpp"
#include "tank/season/season.hpp"

namespace thresher::cli {
namespace {

struct Won {
  std::string title;
  std::string pitch;
  Estimate speedup;
};

// The last word on every pitch, and who took the title in which order.
struct Outcomes {
  std::vector<Won> titles;
  std::map<std::string, const PlayedMatch*> last;
};

Outcomes outcomes_of(const SeasonRecord& record) {
  Outcomes outcomes;
  std::map<std::int64_t, Won> titles;  // by entry: in the order they were won
  for (const auto& [number, round] : record.rounds) {
    for (const PlayedMatch& match : round.matches) {
      const PlayedMatch*& last = outcomes.last[match.pitch];
      if (last == nullptr || last->entry < match.entry) last = &match;
      const bool won = match.verdict.kind == VerdictKind::kAccepted && !match.control;
      if (!won || !match.verdict.estimate) continue;
      titles[match.entry] = {record.pitch(match.pitch).title, match.pitch,
                             match.verdict.estimate->speedup};
    }
  }
  for (auto& [entry, won] : titles) outcomes.titles.push_back(std::move(won));
  return outcomes;
}

// Of the accepted ones those without a title: the others have been named.
std::string named(const Outcomes& outcomes, VerdictKind kind) {
  std::vector<std::string> names;
  for (const auto& [pitch, match] : outcomes.last) {
    if (match->verdict.kind != kind) continue;
    if (kind != VerdictKind::kAccepted || match->control) names.push_back(pitch);
  }
  return fmt::to_string(fmt::join(names, ", "));
}

std::string accepted_text(const Outcomes& outcomes) {
  const std::size_t played = outcomes.last.size();
  if (outcomes.titles.empty() && played == 1) return "The pitch was not accepted.";
  if (outcomes.titles.empty()) {
    return fmt::format("Of {} pitches that were played none was accepted.", played);
  }
  std::string text =
      fmt::format("Of {} pitches that were played {} {} accepted:", played, outcomes.titles.size(),
                  outcomes.titles.size() == 1 ? "was" : "were");
  for (const Won& won : outcomes.titles) {
    text += fmt::format(
        " {} ({}) made the champion of its day {:.2f} times as fast ({:.2f} to "
        "{:.2f}){}",
        won.pitch, won.title, won.speedup.value, won.speedup.low, won.speedup.high,
        &won == &outcomes.titles.back() ? "." : ",");
  }
  return text;
}

// "stages = 8, tile = 12x16": what distinguishes the champion from where the season began.
std::string turned_knobs(const SeasonRecord& record) {
  const KnobValues before = resolved_knobs(contestant_from_json(record.start.at("contestant")));
  const KnobValues now = resolved_knobs(record.champion);
  if (before.empty() || now.empty()) return record.champion.name;
  std::vector<std::string> turned;
  for (const auto& [knob, value] : now) {
    const auto found = before.find(knob);
    if (found == before.end() || found->second != value) {
      turned.push_back(fmt::format("{} = {}", knob, value));
    }
  }
  return fmt::to_string(fmt::join(turned, ", "));
}

std::string gain_text(const SeasonRecord& record, const Outcomes& outcomes) {
  if (outcomes.titles.empty()) return "The champion is still where the season began.";
  double gain = 1;
  for (const Won& won : outcomes.titles) gain *= won.speedup.value;
  return fmt::format(
      "With {} the champion is now about {:.2f} times as fast as the variant that "
      "the season began with.",
      turned_knobs(record), gain);
}

std::string rest_text(const Outcomes& outcomes) {
  std::string text;
  const std::pair<VerdictKind, const char*> rest[] = {
      {VerdictKind::kAccepted, "Accepted as a control, with the title still to be played for"},
      {VerdictKind::kRejected, "Measured and not good enough"},
      {VerdictKind::kWrong, "Caught computing something else, and never timed"},
      {VerdictKind::kInvalid, "Did not build, run or keep the rules"},
      {VerdictKind::kUnclear, "Still open"}};
  for (const auto& [kind, words] : rest) {
    const std::string names = named(outcomes, kind);
    if (!names.empty()) text += fmt::format("{}{}: {}.", text.empty() ? "" : " ", words, names);
  }
  return text;
}

// Of a season that was played on a cluster of unlike nodes.
std::string classes_text(const SeasonRecord& record) {
  std::map<std::string, int> classes;
  for (const auto& [number, round] : record.rounds) {
    for (const PlayedMatch& match : round.matches) {
      if (!match.machine_class.empty()) ++classes[match.machine_class];
    }
  }
  if (classes.size() < 2) return "";
  std::vector<std::string> counts;
  for (const auto& [name, count] : classes) counts.push_back(fmt::format("{} on {}", count, name));
  return fmt::format(
      " The matches were played on {} classes of machines ({}): a verdict holds for the class that "
      "it was found on.",
      classes.size(), fmt::join(counts, "; "));
}

// Whether more time would play something: a match that goes on, or a pitch that enters again.
bool has_more_to_play(const SeasonRecord& record, const Outcomes& outcomes) {
  if (!open_matches(record, record.start.at("terms").get<DealTerms>()).empty()) return true;
  return std::any_of(outcomes.last.begin(), outcomes.last.end(), [&](const auto& one) {
    const PlayedMatch& match = *one.second;
    if (match.verdict.kind == VerdictKind::kAccepted) return match.control;
    return match.verdict.kind == VerdictKind::kUnclear &&
           match.champion_hash != record.champion_hash;
  });
}

std::string next_text(const SeasonRecord& record, const Outcomes& outcomes,
                      const std::filesystem::path& ledger, std::size_t width_max) {
  const std::string season = record.start.at("name");
  const std::string where =
      ledger == kDefaultLedger ? "" : fmt::format(" --ledger {}", ledger.string());
  std::vector<std::pair<std::string, std::string>> lines;
  const auto add = [&](const std::string& command, const std::string& what) {
    lines.emplace_back(called_as() + " " + command, what);
  };
  if (has_more_to_play(record, outcomes)) {
    add(fmt::format("season --season {} --more 120{}", season, where), "goes on with what is open");
  }
  add(fmt::format("report --season {}{}", season, where), "makes a page of it");
  add("pitch show plain_c -o mine", "a pitch to change into your own");
  add("round mine/plain_c.toml", "plays it");
  std::size_t width = 0;
  for (const auto& [command, what] : lines) width = std::max(width, command.size());
  std::string text = "Next:\n";
  for (const auto& [command, what] : lines) {
    const bool fits = 2 + width + 2 + what.size() <= width_max;
    text += fits ? fmt::format("  {:<{}}  {}\n", command, width, what)
                 : fmt::format("  {}\n      {}\n", command, what);
  }
  return text;
}

}  // namespace

std::string season_summary(const SeasonRecord& record, const std::filesystem::path& ledger,
                           std::size_t width) {
  const Outcomes outcomes = outcomes_of(record);
  if (outcomes.last.empty()) {
    std::string text = "Nothing was played: no pitch could enter a round.\n";
    for (const auto& [pitch, constraint] : record.vetoes) {
      text += fmt::format("  {}: vetoed by '{}'\n", pitch, constraint);
    }
    return text;
  }
  return wrapped(fmt::format("{} {} {}{}", accepted_text(outcomes), gain_text(record, outcomes),
                             rest_text(outcomes), classes_text(record)),
                 width) +
         '\n' + next_text(record, outcomes, ledger, width);
}

}  // namespace thresher::cli
