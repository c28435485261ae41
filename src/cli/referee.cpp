// SPDX-License-Identifier: Apache-2.0
// thresher referee: is the referee itself to be trusted? One subcommand per way to find out.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/referee_selftest.hpp"
#include "cli/referee_simulate.hpp"

namespace thresher::cli {

Command add_referee(CLI::App& app) {
  CLI::App* referee = app.add_subcommand("referee", "Test the referee's own judgement");
  referee->require_subcommand(1);
  const std::vector<Command> subcommands{add_referee_simulate(*referee),
                                         add_referee_selftest(*referee)};
  return {referee, [subcommands] {
            const auto chosen =
                std::find_if(subcommands.begin(), subcommands.end(),
                             [](const Command& command) { return command.app->parsed(); });
            return chosen == subcommands.end() ? kExitUsage : chosen->run();
          }};
}

}  // namespace thresher::cli
