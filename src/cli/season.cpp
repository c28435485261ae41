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
                           "Pitch files or folders of them; the shipped ones without any"});
  all.push_back({"--resume", &options->resume,
                 "Go on with the season that was interrupted, where it stopped"});
  return {.name = "season",
          .what = "Play pitches against the champion, round after round",
          .options = all,
          .run = [options] {
            Ledger ledger(options->ledger);
            return play(*options, ledger, make_setup(*options, ledger));
          }};
}

}  // namespace thresher::cli
