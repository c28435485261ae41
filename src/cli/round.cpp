// SPDX-License-Identifier: Apache-2.0
// thresher round: one round with the pitches named. The season stays open: with --season NAME the
// next round goes on with its champion, its sharks and its memory.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/commands.hpp"
#include "cli/season_command.hpp"
#include "cli/terminal.hpp"

namespace thresher::cli {
namespace {

bool was_judged(const SeasonRecord& record, const std::string& pitch) {
  return std::any_of(record.rounds.begin(), record.rounds.end(),
                     [&](const auto& round) { return round.second.match_of(pitch) != nullptr; });
}

// Whoever would change nothing of the champion does not come before the panel.
bool was_voted_on(const SeasonRecord& record, const std::string& pitch) {
  return std::any_of(record.rounds.begin(), record.rounds.end(), [&](const auto& round) {
    const std::vector<Ballot>& ballots = round.second.ballots;
    return std::any_of(ballots.begin(), ballots.end(),
                       [&](const Ballot& ballot) { return ballot.pitch == pitch; });
  });
}

std::string why_not(const SeasonRecord& record, const std::string& pitch) {
  const auto veto = record.vetoes.find(pitch);
  if (veto != record.vetoes.end()) return fmt::format("vetoed by '{}'", veto->second);
  if (!was_voted_on(record, pitch)) return "the champion does this already";
  if (!record.rounds.rbegin()->second.has_new_champion) {
    return "the time was over before its turn; --seconds grants more";
  }
  return fmt::format(
      "a round ends when a pitch is accepted; '{} round --season {}' plays it "
      "against the new champion",
      called_as(), record.start.at("name").get<std::string>());
}

// Nobody names a pitch to see it passed over in silence.
void say_what_was_left(const SeasonSetup& setup, const SeasonRecord& record, std::FILE* stream) {
  for (const Pitch& pitch : setup.pitches) {
    if (was_judged(record, pitch.name)) continue;
    fmt::print(stream, "not played: {}: {}\n", pitch.name, why_not(record, pitch.name));
  }
}

}  // namespace

Command round_command() {
  const auto options = std::make_shared<SeasonOptions>();
  std::vector<Option> all = season_options(*options);
  all.insert(all.begin(), {.name = "pitches",
                           .value = &options->pitches,
                           .what = "Pitch files or folders of them",
                           .required = true});
  return {.name = "round",
          .what = "Play one round: vote, build, judge",
          .options = all,
          .run = [options] {
            const std::unique_ptr<ClusterPlace> place = place_of(*options);
            const std::unique_ptr<Presence> presence = presence_of(*options, "round");
            SeasonSetup setup = make_setup(*options, place.get());
            setup.rounds_max = 1;
            setup.stays_open = true;
            setup.rules.tries_max =
                static_cast<int>(std::max<std::size_t>(3, setup.pitches.size()));
            Ledger ledger(options->ledger);
            const int exit_code = play(*options, ledger, setup, place.get());
            say_what_was_left(setup, read_season(ledger, setup.rules.season),
                              options->json ? stderr : stdout);
            return exit_code;
          }};
}

}  // namespace thresher::cli
