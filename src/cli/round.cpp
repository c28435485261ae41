// SPDX-License-Identifier: Apache-2.0
// thresher round: one round with the pitches named. The season stays open: with --season NAME the
// next round goes on with its champion, its sharks and its memory.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.hpp"
#include "cli/season_command.hpp"

namespace thresher::cli {

Command add_round(CLI::App& app) {
  const auto options = std::make_shared<SeasonOptions>();
  CLI::App* command = app.add_subcommand("round", "Play one round: vote, build, judge");
  command->add_option("pitches", options->pitches, "Pitch files or folders of them")->required();
  add_season_options(*command, *options);
  return {command, [options] {
            Ledger ledger(options->ledger);
            SeasonSetup setup = make_setup(*options, ledger);
            setup.rounds_max = 1;
            setup.stays_open = true;
            return play(*options, ledger, setup);
          }};
}

}  // namespace thresher::cli
