// SPDX-License-Identifier: Apache-2.0
// thresher season: rounds until the pitches or the time run out, then the scoreboard.
#include <memory>

#include "cli/commands.hpp"
#include "cli/season_command.hpp"

namespace thresher::cli {

Command season_command() {
  const auto options = std::make_shared<SeasonOptions>();
  std::vector<Option> all = season_options(*options);
  all.insert(all.begin(), {"pitches", &options->pitches,
                           "Pitch files or folders of them; without any the built-in ones"});
  all.push_back({"--resume", &options->resume,
                 "Go on with the season that was interrupted, where it stopped"});
  all.push_back({.name = "--more",
                 .value = &options->more_seconds,
                 .what = "Give the season named, or the last one, so many seconds more",
                 .range = {{1, 1e7}},
                 .default_text = "none"});
  return {.name = "season",
          .what = "Play pitches against the champion, round after round",
          .options = all,
          .run = [options] {
            const std::unique_ptr<ClusterPlace> place = place_of(*options);
            const std::unique_ptr<Presence> presence = presence_of(*options, "season");
            const SeasonSetup setup = make_setup(*options, place.get());
            Ledger ledger(options->ledger);
            return play(*options, ledger, setup, place.get());
          }};
}

}  // namespace thresher::cli
