// SPDX-License-Identifier: Apache-2.0
#include "tank/season/overtime.hpp"

#include <algorithm>
#include <tuple>

#include "referee/statistics/analysis.hpp"

namespace thresher {
namespace {

// Of a match that was stopped before anything could be said, or says that heats do not help.
constexpr int kHeatsOfTheUnknown = 8;
constexpr int kHeatsOfTheHopeless = 100;

bool has_a_chance(const PlayedMatch& match, const DealTerms& terms) {
  if (match.verdict.kind != VerdictKind::kUnclear) return false;
  if (match.verdict.check == referee::check::kControls) return false;
  return !match.verdict.estimate || match.verdict.estimate->speedup.high > terms.speedup_min;
}

double seconds_needed(const PlayedMatch& match) {
  const int played = static_cast<int>(match.samples.heats.size());
  const double seconds_per_heat = match.seconds / std::max(1, played);
  if (!match.verdict.estimate) return kHeatsOfTheUnknown * seconds_per_heat;
  const int more = match.verdict.estimate->more_heats_needed;
  return (more > 0 ? more : kHeatsOfTheHopeless) * seconds_per_heat;
}

}  // namespace

std::vector<OpenMatch> open_matches(const SeasonRecord& record, const DealTerms& terms) {
  std::vector<OpenMatch> open;
  for (const auto& [number, round] : record.rounds) {
    if (!round.is_finished) continue;
    for (const PlayedMatch& match : round.matches) {
      if (match.champion_hash != record.champion_hash || !has_a_chance(match, terms)) continue;
      open.push_back({number, &match, seconds_needed(match)});
    }
  }
  std::sort(open.begin(), open.end(), [](const OpenMatch& a, const OpenMatch& b) {
    return std::tie(a.seconds_needed, a.match->entry) < std::tie(b.seconds_needed, b.match->entry);
  });
  return open;
}

}  // namespace thresher
