// SPDX-License-Identifier: Apache-2.0
// thresher match: one match between two contestants, outside any season.
#include "referee/match.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "cli/backend_option.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/match_report.hpp"
#include "cli/progress.hpp"
#include "cli/selection.hpp"

namespace thresher::cli {
namespace {

struct MatchArguments {
  std::string champion;
  std::string challenger;
  std::vector<std::string> command;
  std::string backend;
  std::string suite;
  std::vector<std::string> terms;
  MatchOptions options;
  bool warm = false;
  bool json = false;
};

constexpr const char* kEnginesChoice = "default";

Contestant variant_contestant(const std::string& name, const Backend& backend) {
  if (name == kEnginesChoice) {
    return {.kind = ContestantKind::kVariant, .name = name, .backend = std::string(backend.name)};
  }
  return variant_named(name);
}

// A name with one of these endings is a file, everything else a variant.
bool is_file(const std::string& argument) {
  const std::string ending = std::filesystem::path(argument).extension().string();
  return ending == ".so" || ending == ".c" || ending == ".cpp" || ending == ".cc" ||
         ending == ".cu";
}

Contestant contestant_from(const std::string& argument, const Backend& backend) {
  if (!is_file(argument)) return variant_contestant(argument, backend);
  const std::filesystem::path path = argument;
  if (!std::filesystem::exists(path)) {
    throw UsageError(fmt::format("there is no file {}", path.string()));
  }
  if (path.extension() == ".cu") {
    throw UsageError(
        fmt::format("{} has no host code: a pitch has to say how it is launched "
                    "(docs/pitches.md), and 'thresher round' plays it",
                    path.string()));
  }
  return {.kind = ContestantKind::kLibrary,
          .name = path.stem().string(),
          .source = path.filename(),
          .folder = std::filesystem::absolute(path).parent_path(),
          .backend = std::string(backend.name)};
}

// That of the variants named, unless --backend says.
const Backend& backend_from(const MatchArguments& arguments) {
  std::vector<std::string> variants;
  for (const std::string& argument : {arguments.champion, arguments.challenger}) {
    const bool is_variant = !argument.empty() && argument != kEnginesChoice && !is_file(argument);
    if (is_variant) variants.push_back(argument);
  }
  check_variant_names(variants);
  return resolve_backend(arguments.backend, variants);
}

Contestant challenger_from(const MatchArguments& arguments, const Backend& backend) {
  if (arguments.command.empty() == arguments.challenger.empty()) {
    throw UsageError("name one challenger: --challenger VARIANT or FILE, or a command after --");
  }
  if (arguments.command.empty()) return contestant_from(arguments.challenger, backend);
  return {.kind = ContestantKind::kCommand,
          .name = std::filesystem::path(arguments.command.front()).filename().string(),
          .command = arguments.command,
          .folder = std::filesystem::current_path(),
          .backend = std::string(backend.name)};
}

// "speedup=1.02", "regression=0.05" and so on.
DealTerms terms_from(const std::vector<std::string>& assignments) {
  DealTerms terms;
  const std::map<std::string, double*> known = {{"speedup", &terms.speedup_min},
                                                {"regression", &terms.regression_max},
                                                {"spread", &terms.spread_max},
                                                {"confidence", &terms.confidence}};
  for (const std::string& assignment : assignments) {
    const std::size_t equals = std::min(assignment.find('='), assignment.size());
    const auto found = known.find(assignment.substr(0, equals));
    const std::string number = assignment.substr(std::min(equals + 1, assignment.size()));
    if (found == known.end() || !CLI::detail::lexical_cast(number, *found->second)) {
      throw UsageError(
          fmt::format("deal term '{}' is not speedup, regression, spread or confidence = a number",
                      assignment));
    }
  }
  return terms;
}

int run_match(const MatchArguments& arguments) {
  const Backend& backend = backend_from(arguments);
  Match match{.champion = contestant_from(arguments.champion, backend),
                        .challenger = challenger_from(arguments, backend),
                        .suite = load_named_suite(arguments.suite),
                        .terms = terms_from(arguments.terms),
                        .options = arguments.options};
  match.options.cold = !arguments.warm;
  match.options.gpu = gpu_engine_options();
  // Steps: two contestants with three gates each, then at most heats_max heats.
  Progress progress(6 + match.options.analysis.heats_max);
  match.options.progress = [&](const std::string& text) { progress.begin_step(text); };
  const MatchRecord record = judge(match);
  progress.clear();
  if (arguments.json) {
    print_json(match, record);
  } else {
    print_tables(match, record);
  }
  return record.verdict.kind == VerdictKind::kAccepted ? kExitOk : kExitFailure;
}

}  // namespace

Command add_match(CLI::App& app) {
  const auto arguments = std::make_shared<MatchArguments>();
  MatchOptions& options = arguments->options;
  CLI::App* command = app.add_subcommand(
      "match", "Judge a challenger against a champion; exit code 0 if it is accepted");
  command->add_option("--champion", arguments->champion, "Variant, .c, .cpp or .so file")
      ->default_val(kEnginesChoice);
  command->add_option("--challenger", arguments->challenger, "Variant, .c, .cpp or .so file");
  command->add_option("command", arguments->command,
                      "After --: a challenger that speaks the protocol (docs/contestants.md)");
  add_backend_option(*command, arguments->backend);
  command->add_option("--suite", arguments->suite, "Suite name or .toml file")->required();
  command
      ->add_option("--terms", arguments->terms,
                   "Deal terms: speedup=1.01 regression=0.03 spread=0.05 confidence=0.95")
      ->type_name("NAME=VALUE ...");
  command->add_option("--seconds", options.seconds_max, "Longest time the match may take")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  command->add_option("--call-seconds", options.call_timeout_seconds, "Longest time of one call")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  command->add_option("--blocks", options.blocks_per_problem, "ABBA blocks per problem and heat")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--threads", options.thread_count, "Threads of each contestant")
      ->check(CLI::Range(1, 1024))
      ->default_str("all cores");
  command
      ->add_option("--seed", options.seed, "To repeat a match: who knows it can foresee the inputs")
      ->default_str("drawn from the kernel");
  command->add_flag("--warm", arguments->warm, "Leave caches warm between calls");
  command->add_flag("--json", arguments->json, "Print one JSON object");
  return {command, [arguments] { return run_match(*arguments); }};
}

}  // namespace thresher::cli
