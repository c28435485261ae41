// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <new>

#include "cli/commands.hpp"

namespace thresher::cli {
namespace {

int complain(const std::string& message, int exit_code) {
  std::fflush(stdout);
  fmt::print(stderr, "thresher: {}\n", message);
  return exit_code;
}

std::string help_hint(const std::vector<Command>& commands) {
  for (const Command& command : commands) {
    if (command.app->parsed()) {
      return fmt::format("try 'thresher {} --help'", command.app->get_name());
    }
  }
  return "try 'thresher --help'";
}

int run_parsed(const std::vector<Command>& commands) {
  for (const Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  throw UsageError("no command given; try 'thresher --help'");
}

// A full disk or a closed pipe must not look like success.
int check_output(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  return complain("cannot write the output; is the disk full or the reader gone?", kExitFailure);
}

}  // namespace

int run_command_line(int argc, const char* const* argv) {
  CLI::App app("NVFP4 grouped GEMM and gated dual GEMM, verified and measured", "thresher");
  app.set_version_flag("--version", std::string("thresher ") + THRESHER_VERSION);
  // None is an error too, but CLI11 would then complain of that before it names an unknown one.
  app.require_subcommand(0, 1);
  std::vector<Command> commands;
  for (const auto add : {add_doctor, add_verify, add_bench, add_variants, add_suites, add_match,
                         add_pitch, add_constraints, add_round, add_season, add_scoreboard,
                         add_ledger, add_report, add_referee, add_worker}) {
    commands.push_back(add(app));
  }
  try {
    app.parse(argc, argv);
    return check_output(run_parsed(commands));
  } catch (const CLI::Success& help) {
    return check_output(app.exit(help));
  } catch (const CLI::ParseError& error) {
    return complain(fmt::format("{}; {}", error.what(), help_hint(commands)), kExitUsage);
  } catch (const UsageError& error) {
    return complain(error.what(), kExitUsage);
  } catch (const std::bad_alloc&) {
    return complain("not enough memory; choose a smaller problem or fewer contestants",
                    kExitFailure);
  } catch (const std::exception& error) {
    return complain(error.what(), kExitFailure);
  }
}

}  // namespace thresher::cli
