// SPDX-License-Identifier: Apache-2.0
// thresher round: one round with the pitches named. The season stays open: with --season NAME the
// next round goes on with its champion, its sharks and its memory.
#include <memory>

#include "cli/commands.hpp"
#include "cli/season_command.hpp"

namespace thresher::cli {

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
            Ledger ledger(options->ledger);
            SeasonSetup setup = make_setup(*options, ledger);
            setup.rounds_max = 1;
            setup.stays_open = true;
            return play(*options, ledger, setup);
          }};
}

}  // namespace thresher::cli
