// SPDX-License-Identifier: Apache-2.0
// thresher match: one match between two contestants, outside any season.
#include "referee/match.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/backend_option.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/contestant_threads.hpp"
#include "cli/interruption.hpp"
#include "cli/ledger_path.hpp"
#include "cli/match_report.hpp"
#include "cli/memory_check.hpp"
#include "cli/presence.hpp"
#include "cli/progress.hpp"
#include "cli/selection.hpp"
#include "cli/terminal.hpp"
#include "cli/terms_option.hpp"
#include "referee/contestant/program.hpp"
#include "referee/statistics/json.hpp"

namespace thresher::cli {
namespace {

constexpr const char* kDefaultChampion = "default";

struct MatchArguments {
  std::string champion = kDefaultChampion;
  std::string challenger;
  std::vector<std::string> command;
  std::string backend;
  std::string suite;
  std::vector<std::string> terms;
  MatchOptions options;
  std::filesystem::path go_on;
  std::filesystem::path record;
  bool warm = false;
  bool json = false;
};

Contestant variant_contestant(const std::string& name, const Backend& backend) {
  if (name == kDefaultChampion) {
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

// A file that is there and is no variant's name: a script, most likely.
void check_is_variant(const std::string& argument) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(argument, ignored)) return;
  const bool is_python = std::filesystem::path(argument).extension() == ".py";
  throw UsageError(
      fmt::format("'{}' is neither .c, .cpp nor .so; a program enters as a command, "
                  "after everything else: -- {}{}",
                  argument, is_python ? "python3 " : "./", argument));
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
    const bool is_variant = !argument.empty() && argument != kDefaultChampion && !is_file(argument);
    if (!is_variant) continue;
    check_is_variant(argument);
    variants.push_back(argument);
  }
  check_variant_names(variants);
  return resolve_backend(arguments.backend, variants);
}

Contestant challenger_from(const MatchArguments& arguments, const Backend& backend) {
  if (arguments.command.empty() == arguments.challenger.empty()) {
    throw UsageError("name one challenger: --challenger VARIANT or FILE, or a command after --");
  }
  if (arguments.command.empty()) return contestant_from(arguments.challenger, backend);
  Contestant command{.kind = ContestantKind::kCommand,
                     .name = std::filesystem::path(arguments.command.front()).filename().string(),
                     .command = arguments.command,
                     .folder = std::filesystem::current_path(),
                     .backend = std::string(backend.name)};
  if (const std::string why = referee::why_no_program(command, std::getenv("PATH")); !why.empty()) {
    throw UsageError(why);
  }
  const std::string note = referee::passed_over_program(command, std::getenv("PATH"));
  if (!note.empty()) fmt::print(stderr, "thresher: {}\n", note);
  return command;
}

nlohmann::json read_record(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) throw UsageError(fmt::format("cannot read {}", file.string()));
  nlohmann::json record = nlohmann::json::parse(stream, nullptr, /*allow_exceptions=*/false);
  if (!record.is_object() || !record.contains("samples") || !record.contains("heats_max")) {
    throw UsageError(fmt::format("{} is not what 'thresher match --record' writes", file.string()));
  }
  return record;
}

// The range of heats stays the one the match began with: its errors rest on that.
void go_on_with(const std::filesystem::path& file, Match& match) {
  const nlohmann::json record = read_record(file);
  const auto expect = [&](const char* key, const nlohmann::json& here) {
    if (record.value(key, nlohmann::json()) == here) return;
    throw UsageError(fmt::format("{}: its {} is another; the same match can go on, no other",
                                 file.string(), key));
  };
  expect("suite", match.suite.name);
  expect("terms", match.terms);
  expect("champion_hash", contestant_hash(match.champion));
  expect("challenger_hash", contestant_hash(match.challenger));
  if (match.options.thread_count == 0) match.options.thread_count = record.value("threads", 0);
  expect("threads", match.options.thread_count);
  match.options.earlier = record.at("samples").get<MatchSamples>();
  AnalysisOptions& analysis = match.options.analysis;
  analysis.heats_min = record.at("heats_min");
  analysis.heats_max = record.at("heats_max");
  const auto played = static_cast<int>(match.options.earlier.heats.size());
  if (played >= analysis.heats_limit()) {
    throw UsageError(fmt::format("{}: all its {} heats are played; --more grants further ones",
                                 file.string(), played));
  }
}

// A match that was long must not end by not being kept.
void check_can_write(const std::filesystem::path& file) {
  if (!std::ofstream(file, std::ios::app)) {
    throw UsageError(fmt::format("--record: cannot write {}", file.string()));
  }
}

void write_record(const std::filesystem::path& file, const Match& match,
                  const MatchRecord& record) {
  std::ofstream stream(file);
  if (stream << match_json(match, record).dump() << '\n' && stream.flush()) return;
  throw Error(fmt::format("cannot write {}; is the disk full?", file.string()));
}

std::string option_words(const char* name, const std::string& value) {
  return value.empty() ? "" : fmt::format(" {} {}", name, shell_quoted(value));
}

// The command that gives an unclear match the heats that would decide it, where any would.
std::string how_to_go_on(const MatchArguments& arguments, const MatchRecord& record) {
  const Verdict& verdict = record.verdict;
  if (verdict.kind != VerdictKind::kUnclear || record.samples.heats.empty()) return {};
  if (arguments.record.empty()) return "nothing: only --record FILE keeps a match";
  std::string command = called_as() + " match";
  if (arguments.champion != kDefaultChampion) {
    command += option_words("--champion", arguments.champion);
  }
  command += option_words("--challenger", arguments.challenger) +
             option_words("--backend", arguments.backend) +
             option_words("--suite", arguments.suite);
  for (const std::string& term : arguments.terms) command += option_words("--terms", term);
  if (arguments.warm) command += " --warm";
  command += option_words("--go-on", arguments.record.string()) +
             option_words("--record", arguments.record.string());
  const int needed = verdict.estimate ? verdict.estimate->more_heats_needed : 0;
  const int heat_count = static_cast<int>(record.samples.heats.size()) + std::max(1, needed);
  const int beyond = heat_count - arguments.options.analysis.heats_max;
  if (beyond > 0) command += fmt::format(" --more {}", beyond);
  if (!arguments.command.empty()) command += " --";
  for (const std::string& word : arguments.command) command += " " + shell_quoted(word);
  return command;
}

int run_match(MatchArguments& arguments) {
  const Interruption interruption("a match keeps nothing; the same command starts it anew");
  const Backend& backend = backend_from(arguments);
  Match match{.champion = contestant_from(arguments.champion, backend),
              .challenger = challenger_from(arguments, backend),
              .suite = load_named_suite(arguments.suite),
              .terms = terms_from(arguments.terms),
              .options = arguments.options};
  check_match_fits(match.suite);
  if (!arguments.record.empty()) check_can_write(arguments.record);
  const Presence presence("match");
  match.options.cold = !arguments.warm;
  if (!arguments.go_on.empty()) go_on_with(arguments.go_on, match);
  arguments.options.analysis = match.options.analysis;
  match.options.gpu = engine_options(backend);
  match.options.thread_count = contestant_threads(match.options.thread_count);
  match.options.confinement.hidden = hidden_from_contestants();
  // Steps: two contestants with three gates each, then at most so many heats.
  Progress progress(6 + match.options.analysis.heats_limit());
  match.options.progress = [&](const std::string& text) { progress.begin_step(text); };
  const MatchRecord record = judge(match);
  progress.clear();
  if (!arguments.record.empty()) write_record(arguments.record, match, record);
  if (arguments.json) {
    fmt::print("{}\n", match_json(match, record).dump());
  } else {
    print_tables(match, record, how_to_go_on(arguments, record));
  }
  return record.verdict.kind == VerdictKind::kAccepted ? kExitOk : kExitFailure;
}

}  // namespace

Command match_command() {
  const auto arguments = std::make_shared<MatchArguments>();
  MatchOptions& options = arguments->options;
  return {.name = "match",
          .what = "Judge a challenger against a champion; exit code 0 if it is accepted",
          .options = {{"--champion", &arguments->champion, "Variant, .c, .cpp or .so file"},
                      {"--challenger", &arguments->challenger, "Variant, .c, .cpp or .so file"},
                      {"command", &arguments->command,
                       "After --: a challenger that speaks the protocol (docs/contestants.md)"},
                      backend_option(arguments->backend),
                      {.name = "--suite",
                       .value = &arguments->suite,
                       .what = "Suite name or .toml file",
                       .required = true},
                      terms_option(arguments->terms),
                      {.name = "--seconds",
                       .value = &options.seconds_max,
                       .what = "Longest time the match may take",
                       .range = {{0.1, 86400}}},
                      {.name = "--call-seconds",
                       .value = &options.call_timeout_seconds,
                       .what = "Longest time of one call",
                       .range = {{0.01, 3600}}},
                      {.name = "--heats-max",
                       .value = &options.analysis.heats_max,
                       .what = "Most heats; bounds are wider the more looks there may be",
                       .range = {{5, 10000}}},
                      {"--go-on", &arguments->go_on,
                       "Continue the match of this file, written by --record: its heats count"},
                      {"--record", &arguments->record,
                       "Write the match to this file, all its heats with it; --go-on takes it up"},
                      {.name = "--more",
                       .value = &options.analysis.heats_more,
                       .what = "Heats beyond the most that the match began with",
                       .range = {{0, 10000}}},
                      {.name = "--blocks",
                       .value = &options.blocks_per_problem,
                       .what = "Fewest blocks per problem and heat; a pilot may ask for more",
                       .range = {{1, 1000}}},
                      contestant_threads_option(options.thread_count),
                      {.name = "--seed",
                       .value = &options.seed,
                       .what = "To repeat a match: who knows it can foresee the inputs",
                       .default_text = "drawn from the kernel"},
                      {"--warm", &arguments->warm, "Leave caches warm between calls"},
                      json_flag(arguments->json)},
          .run = [arguments] { return run_match(*arguments); }};
}

}  // namespace thresher::cli
