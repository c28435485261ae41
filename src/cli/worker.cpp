// SPDX-License-Identifier: Apache-2.0
// thresher worker: the hidden command by which the referee starts every contestant.
#include <memory>

#include "cli/commands.hpp"
#include "referee/sandbox/job.hpp"
#include "referee/sandbox/launcher.hpp"

namespace thresher::cli {

Command worker_command() {
  const auto order = std::make_shared<std::string>();
  return {.name = "worker",
          .what = "For the referee: run one contestant (docs/contestants.md)",
          .options = {{.name = "order",
                       .value = order.get(),
                       .what = "What to do, as the referee writes it",
                       .required = true}},
          .run = [order]() -> int { referee::launch(referee::work_order_from_text(*order)); },
          .hidden = true};
}

}  // namespace thresher::cli
