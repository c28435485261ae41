// SPDX-License-Identifier: Apache-2.0
// thresher caretaker: the hidden command that clears away after a referee that was killed.
#include <unistd.h>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "referee/sandbox/leftovers.hpp"

namespace thresher::cli {

Command caretaker_command() {
  return {.name = "caretaker",
          .what = "For the referee: clear away what it leaves if it is killed",
          .options = {},
          .run =
              [] {
                referee::take_care(STDIN_FILENO);
                return int{kExitOk};
              },
          .hidden = true};
}

}  // namespace thresher::cli
