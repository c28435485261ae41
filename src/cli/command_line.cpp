// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <type_traits>

#include "cli/commands.hpp"
#include "spelling.hpp"

namespace thresher::cli {
namespace {

int complain(const std::string& message, int exit_code) {
  std::fflush(stdout);
  fmt::print(stderr, "thresher: {}\n", message);
  return exit_code;
}

// A full disk or a closed pipe must not look like success.
int check_output(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  return complain("cannot write the output; is the disk full or the reader gone?", kExitFailure);
}

template <typename Value>
constexpr bool kIsInteger = std::is_same_v<Value, int> || std::is_same_v<Value, std::vector<int>>;

// Numbers and words that are there before anybody names others are the default.
template <typename Value>
bool says_default(const Value& value) {
  if constexpr (std::is_arithmetic_v<Value>) return true;
  if constexpr (std::is_same_v<Value, std::string>) return !value.empty();
  return false;
}

CLI::Validator one_of(const std::vector<std::string>& words) {
  const auto fault = [words](const std::string& word) {
    if (std::find(words.begin(), words.end(), word) != words.end()) return std::string();
    return fmt::format("'{}' is none of {}{}", word, fmt::join(words, ", "),
                       did_you_mean(word, words));
  };
  return {fault, fmt::format("{{{}}}", fmt::join(words, ","))};
}

CLI::Validator in_range(const OptionRange& range, bool integer) {
  const auto fault = [range, integer](const std::string& text) {
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    const bool is_number =
        !text.empty() && *end == '\0' && (!integer || number == std::floor(number));
    if (is_number && number >= range.low && number <= range.high) return std::string();
    return fmt::format("'{}' is no {} from {} to {}", text, integer ? "whole number" : "number",
                       range.low, range.high);
  };
  return {fault, fmt::format("[{} - {}]", range.low, range.high)};
}

template <typename Value>
void declare_option(CLI::App& app, const Option& option, Value& value) {
  CLI::Option* declared = app.add_option(option.name, value, option.what);
  declared->required(option.required);
  if (!option.words.empty()) declared->check(one_of(option.words));
  if (option.range) declared->check(in_range(*option.range, kIsInteger<Value>));
  if (!option.type_text.empty()) declared->type_name(option.type_text);
  if (option.assignments) declared->allow_extra_args(false);
  if (!option.default_text.empty()) {
    declared->default_str(option.default_text);
  } else if (says_default(value)) {
    declared->capture_default_str();
  }
}

void declare_option(CLI::App& app, const Option& option, bool& value) {
  app.add_flag(option.name, value, option.what);
}

void declare(CLI::App& parent, const Command& command) {
  CLI::App* app = parent.add_subcommand(command.name, command.what);
  if (command.hidden) app->group("");
  for (const Option& option : command.options) {
    std::visit([&](auto* value) { declare_option(*app, option, *value); }, option.value);
  }
  for (const Command& subcommand : command.commands) declare(*app, subcommand);
  if (!command.commands.empty()) app->require_subcommand(1);
}

bool takes_assignments(const std::vector<Command>& commands, std::string_view name) {
  return std::any_of(commands.begin(), commands.end(), [&](const Command& command) {
    return takes_assignments(command.commands, name) ||
           std::any_of(command.options.begin(), command.options.end(), [&](const Option& option) {
             return option.assignments && option.name == name;
           });
  });
}

// "--terms a=1 b=2 mine.toml" as "--terms a=1 --terms b=2 mine.toml": to the parser an option that
// takes several words takes all that follow.
std::vector<const char*> assignments_apart(const std::vector<Command>& commands, int argc,
                                           const char* const* argv) {
  std::vector<const char*> words;
  const char* taker = nullptr;
  bool is_first = false;
  for (int i = 0; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") {
      words.insert(words.end(), argv + i, argv + argc);
      break;
    }
    const bool is_assignment = word.find('=') != std::string_view::npos && !word.starts_with('-');
    if (taker != nullptr && is_assignment && !is_first) words.push_back(taker);
    words.push_back(argv[i]);
    is_first = takes_assignments(commands, word);
    if (is_first) taker = argv[i];
    if (!is_first && !is_assignment) taker = nullptr;
  }
  return words;
}

int run_parsed(const CLI::App& app, const std::vector<Command>& commands) {
  for (const Command& command : commands) {
    const CLI::App* parsed = app.get_subcommand(command.name);
    if (!parsed->parsed()) continue;
    return command.commands.empty() ? command.run() : run_parsed(*parsed, command.commands);
  }
  throw UsageError("no command given; try 'thresher --help'");
}

// The command that the words before a mistake have named, and those words.
struct Reached {
  const CLI::App* app = nullptr;
  std::string name = "thresher";
};

Reached reached_by(const CLI::App& app) {
  Reached reached{.app = &app};
  while (!reached.app->get_subcommands().empty()) {
    reached.app = reached.app->get_subcommands().front();
    reached.name += " " + reached.app->get_name();
  }
  return reached;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return names;
}

// A word that the parser had no place for. Empty: it had one for each.
std::string unknown_word(const CLI::App& app, const Reached& reached) {
  const std::vector<std::string> left = app.remaining(/*recurse=*/true);
  if (left.empty()) return {};
  const std::string word = left.front().substr(0, left.front().find('='));
  if (word.starts_with("-")) {
    return fmt::format("'{}' has no option '{}'{}", reached.name, word,
                       did_you_mean(word, option_names(*reached.app)));
  }
  const std::vector<std::string> commands = command_names(*reached.app);
  return commands.empty() ? fmt::format("'{}' has no use for '{}'", reached.name, word)
                          : fmt::format("'{}' has no command '{}'{}", reached.name, word,
                                        did_you_mean(word, commands));
}

// What is missing may be missing because its name was misspelt, so unknown words come first.
std::string describe(const CLI::App& app, const CLI::ParseError& error) {
  const Reached reached = reached_by(app);
  const std::string unknown = unknown_word(app, reached);
  const std::vector<std::string> commands = command_names(*reached.app);
  const bool wants_command = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const std::string text =
      !unknown.empty() ? unknown
      : wants_command && !commands.empty()
          ? fmt::format("'{}' needs a command: {}", reached.name, fmt::join(commands, " or "))
          : error.what();
  return fmt::format("{}{} try '{} --help'", text, text.ends_with('?') ? "" : ";", reached.name);
}

}  // namespace

int run_command_line(const std::vector<Command>& commands, int argc, const char* const* argv) {
  CLI::App app("NVFP4 grouped GEMM and gated dual GEMM, verified and measured", "thresher");
  app.set_version_flag("--version", std::string("thresher ") + THRESHER_VERSION);
  // None is an error too, but CLI11 would then complain of that before it names an unknown one.
  app.require_subcommand(0, 1);
  for (const Command& command : commands) declare(app, command);
  try {
    const std::vector<const char*> words = assignments_apart(commands, argc, argv);
    app.parse(static_cast<int>(words.size()), words.data());
    return check_output(run_parsed(app, commands));
  } catch (const CLI::Success& help) {
    return check_output(app.exit(help));
  } catch (const CLI::ParseError& error) {
    return complain(describe(app, error), kExitUsage);
  } catch (const UsageError& error) {
    return complain(error.what(), kExitUsage);
  } catch (const std::bad_alloc&) {
    return complain("not enough memory; choose a smaller problem or fewer contestants",
                    kExitFailure);
  } catch (const std::exception& error) {
    return complain(error.what(), kExitFailure);
  }
}

int run_command_line(int argc, const char* const* argv) {
  return run_command_line(
      {doctor_command(), verify_command(),     bench_command(),       variants_command(),
       suites_command(), inspect_command(),    quantize_command(),    match_command(),
       tune_command(),   pitch_command(),      constraints_command(), round_command(),
       season_command(), scoreboard_command(), forecast_command(),    ledger_command(),
       report_command(), export_command(),     referee_command(),     task_command(),
       worker_command(), caretaker_command()},
      argc, argv);
}

}  // namespace thresher::cli
