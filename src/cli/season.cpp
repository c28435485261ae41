// SPDX-License-Identifier: Apache-2.0
// thresher season: rounds until the pitches or the time run out, then the scoreboard.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.hpp"
#include "cli/season_command.hpp"

namespace thresher::cli {

Command add_season(CLI::App& app) {
  const auto options = std::make_shared<SeasonOptions>();
  CLI::App* command =
      app.add_subcommand("season", "Play pitches against the champion, round after round");
  command->add_option("pitches", options->pitches,
                      "Pitch files or folders of them; the shipped ones without any");
  add_season_options(*command, *options);
  command->add_flag("--resume", options->resume,
                    "Go on with the season that was interrupted, where it stopped");
  return {command, [options] {
            Ledger ledger(options->ledger);
            return play(*options, ledger, make_setup(*options, ledger));
          }};
}

}  // namespace thresher::cli
