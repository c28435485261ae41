// SPDX-License-Identifier: Apache-2.0
// A command as data: what it is called, which arguments it takes, what runs it. command_line.cpp
// reads the arguments; it alone sees the parser, whose headers take longer to compile than the rest
// of a command.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "thresher/error.hpp"

namespace thresher::cli {

// Where the value of an option goes; a bool makes it a flag.
using OptionValue =
    std::variant<bool*, int*, double*, std::uint64_t*, std::string*, std::filesystem::path*,
                 std::vector<int>*, std::vector<std::string>*, std::vector<std::filesystem::path>*>;

struct OptionRange {
  double low = 0;
  double high = 0;
};

struct Option {
  std::string name;   // "--seed"; without dashes an argument that goes by its place
  OptionValue value;  // holds the default until the option is given
  std::string what;   // for --help
  bool required = false;
  std::vector<std::string> words = {};    // the only values there are, if any
  std::optional<OptionRange> range = {};  // for numbers, both ends included
  std::string default_text = {};          // for --help, where the value does not say it
  std::string type_text = {};             // for --help, where the type does not say it
  bool assignments = false;               // takes words with a '=' in them and no others
};

// Options that several commands have.
inline Option json_flag(bool& json) { return {"--json", &json, "Print one JSON object"}; }
inline Option contestant_threads_option(int& thread_count) {
  return {.name = "--threads",
          .value = &thread_count,
          .what = "Threads of each contestant",
          .range = {{1, 1024}},
          .default_text = "all cores that nobody else keeps busy"};
}

struct Command {
  std::string name;
  std::string what;  // for --help
  std::vector<Option> options = {};
  std::function<int()> run = {};       // returns the exit code
  std::vector<Command> commands = {};  // instead of `run`: one of them must be named
  bool hidden = false;                 // from --help
};

// An argument that parses but names nothing we have. Ends the command with kExitUsage.
class UsageError : public Error {
 public:
  using Error::Error;
};

}  // namespace thresher::cli
