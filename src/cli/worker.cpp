// SPDX-License-Identifier: Apache-2.0
// thresher worker: the hidden command by which the referee starts every contestant.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.hpp"
#include "referee/sandbox/job.hpp"
#include "referee/sandbox/launcher.hpp"

namespace thresher::cli {

Command add_worker(CLI::App& app) {
  const auto order = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("worker", "For the referee: run one contestant (docs/contestants.md)")
          ->group("");
  command->add_option("order", *order, "What to do, as the referee writes it")->required();
  return {command, [order]() -> int { referee::launch(referee::work_order_from_text(*order)); }};
}

}  // namespace thresher::cli
