// SPDX-License-Identifier: Apache-2.0
// The thresher command: reads its arguments, runs one command, turns what went wrong into a message
// on stderr and an exit code.
#pragma once

#include <vector>

#include "cli/command.hpp"

namespace thresher::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

int run_command_line(int argc, const char* const* argv);

// The same with other commands than ours.
int run_command_line(const std::vector<Command>& commands, int argc, const char* const* argv);

}  // namespace thresher::cli
