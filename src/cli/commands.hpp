// SPDX-License-Identifier: Apache-2.0
// The commands, one file each. add_<name>() declares the command's arguments and returns
// what runs it.
#pragma once

#include <functional>

#include "thresher/error.hpp"

namespace CLI {
class App;
}

namespace thresher::cli {

struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;  // returns the exit code
};

Command add_doctor(CLI::App& app);
Command add_verify(CLI::App& app);
Command add_bench(CLI::App& app);
Command add_variants(CLI::App& app);
Command add_suites(CLI::App& app);
Command add_ledger(CLI::App& app);
Command add_pitch(CLI::App& app);
Command add_constraints(CLI::App& app);
Command add_match(CLI::App& app);
Command add_referee(CLI::App& app);
Command add_round(CLI::App& app);
Command add_season(CLI::App& app);
Command add_scoreboard(CLI::App& app);
Command add_worker(CLI::App& app);
Command add_report(CLI::App& app);

// An argument that parses but names nothing we have. Ends the command with kExitUsage.
class UsageError : public Error {
 public:
  using Error::Error;
};

}  // namespace thresher::cli
