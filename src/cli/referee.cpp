// SPDX-License-Identifier: Apache-2.0
// thresher referee: the referee's own error rates, in model worlds and on this machine.
#include "cli/commands.hpp"

namespace thresher::cli {

Command referee_command() {
  return {.name = "referee",
          .what = "Test the referee's own judgement",
          .commands = {referee_simulate_command(), referee_selftest_command()}};
}

}  // namespace thresher::cli
