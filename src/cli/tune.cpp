// SPDX-License-Identifier: Apache-2.0
// thresher tune: the best plan for your shapes within a budget, in a file that the engine loads.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/backend_option.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/contestant_threads.hpp"
#include "cli/interruption.hpp"
#include "cli/ledger_path.hpp"
#include "cli/memory_check.hpp"
#include "cli/presence.hpp"
#include "cli/progress.hpp"
#include "cli/selection.hpp"
#include "cli/table.hpp"
#include "cli/terms_option.hpp"
#include "engine/plan_file.hpp"
#include "thresher/error.hpp"
#include "tune/tuner.hpp"

namespace thresher::cli {
namespace {

using HostTime = std::chrono::steady_clock;

constexpr double kCeilingSeconds = 0.3;

struct TuneArguments {
  std::string backend;
  std::vector<std::string> suites;
  std::vector<std::string> problems;
  std::vector<int> tokens;
  int thread_count = 0;
  std::string budget = "5m";
  std::filesystem::path output;
  std::uint64_t seed = 1;
  std::vector<std::string> terms;
  bool again = false;
  bool json = false;
};

// "90", "90s", "5m", "1h"
double seconds_from(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, text.data() + text.size());
  const double factor = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  const double seconds = value * factor;
  if (error == std::errc{} && seconds >= 1 && seconds <= 1e6) return seconds;
  throw UsageError(fmt::format(
      "--budget: '{}' is not a time from 1 second to 10 days such as 90s, 5m or 1h", text));
}

// So many tokens, spread over the groups as evenly as they go.
Problem with_tokens(Problem problem, int tokens) {
  const auto count = static_cast<std::int64_t>(problem.groups.size());
  for (std::int64_t i = 0; i < count; ++i) {
    problem.groups[static_cast<std::size_t>(i)].m = tokens / count + (i < tokens % count ? 1 : 0);
  }
  problem.name += fmt::format("_t{}", tokens);
  return problem;
}

std::vector<Problem> problems_of(const TuneArguments& arguments) {
  std::vector<Problem> problems;
  for (const SelectedProblem& selected : select_problems(arguments.suites, arguments.problems)) {
    if (arguments.tokens.empty()) problems.push_back(selected.problem);
    for (const int tokens : distinct(arguments.tokens)) {
      problems.push_back(with_tokens(selected.problem, tokens));
    }
  }
  for (const Problem& problem : problems) {
    if (plan_class(problem)) continue;
    throw UsageError(
        fmt::format("problem '{}': its groups differ in n or k, and a plan is for equal ones; "
                    "choose others with --problem",
                    problem.name));
  }
  return problems;
}

const PlanEntry* entry_of(const PlanFile& file, const Problem& problem) {
  for (const PlanEntry& entry : file.entries) {
    if (entry.of == *plan_class(problem) && entry.tokens == token_count(problem)) return &entry;
  }
  return nullptr;
}

PlanEntry entry_from(const Problem& problem, const tune::TuneResult& found) {
  return {.of = *plan_class(problem),
          .tokens = token_count(problem),
          .variant = found.variant,
          .choice = found.choice,
          .better = found.accepted,
          .speedup = found.speedup.value,
          .low = found.speedup.low,
          .high = found.speedup.high,
          .reason = found.reason};
}

struct TunedProblem {
  Problem problem;
  PlanEntry entry;
  std::optional<tune::TuneResult> found;  // nothing: the file had it already
};

class TuneRun {
 public:
  explicit TuneRun(const TuneArguments& arguments)
      : arguments_(arguments),
        seconds_(seconds_from(arguments.budget)),
        begin_(HostTime::now()),
        problems_(problems_of(arguments)),
        options_(options_from(arguments)),
        engine_(options_) {
    file_.fingerprint = fingerprint_of(engine_.state());
  }

  std::vector<TunedProblem> run() {
    take_up();
    std::vector<TunedProblem> tuned;
    std::size_t left = 0;
    for (const Problem& problem : problems_) left += needs(problem) ? 1 : 0;
    if (left > 0) rates_ = engine_.state().measure_ceilings(kCeilingSeconds).rates;
    for (const Problem& problem : problems_) {
      if (needs(problem)) {
        tuned.push_back(tune_one(problem, seconds_left() / static_cast<double>(left--)));
      } else {
        tuned.push_back({.problem = problem, .entry = *entry_of(file_, problem), .found = {}});
      }
    }
    return tuned;
  }

 private:
  static EngineOptions options_from(const TuneArguments& arguments) {
    EngineOptions options = engine_options(resolve_backend(arguments.backend));
    if (options.device == "cpu") options.thread_count = contestant_threads(arguments.thread_count);
    return options;
  }

  double seconds_left() const {
    return seconds_ - std::chrono::duration<double>(HostTime::now() - begin_).count();
  }

  // What a file of this machine says already stays.
  void take_up() {
    if (!std::filesystem::exists(arguments_.output)) return;
    PlanFile before = read_plan_file(arguments_.output);
    if (const std::string why = why_foreign(before.fingerprint, file_.fingerprint); !why.empty()) {
      throw UsageError(
          fmt::format("{}: {}; give the new plan another name", arguments_.output.string(), why));
    }
    file_ = std::move(before);
  }

  bool needs(const Problem& problem) const {
    return arguments_.again || entry_of(file_, problem) == nullptr;
  }

  TunedProblem tune_one(const Problem& problem, double seconds) {
    tune::TuneOptions options{.seconds = std::max(1.0, seconds),
                              .seed = arguments_.seed,
                              .rates = rates_,
                              .terms = terms_from(arguments_.terms)};
    options.match.thread_count = options_.thread_count;
    options.match.gpu = gpu_engine_options();
    options.match.confinement.hidden = hidden_from_contestants();
    const HostTime::time_point problem_begin = HostTime::now();
    Progress progress(std::max<std::int64_t>(1, std::lround(options.seconds)), {});
    options.progress = [&](const std::string& text) {
      const double passed = std::chrono::duration<double>(HostTime::now() - problem_begin).count();
      progress.begin_step(fmt::format("[{:.0f} of {:.0f} s] {}", passed, options.seconds, text));
    };
    tune::TuneResult found = tune::tune(engine_, problem, options);
    progress.clear();
    PlanEntry entry = entry_from(problem, found);
    std::erase_if(file_.entries, [&](const PlanEntry& other) {
      return other.of == entry.of && other.tokens == entry.tokens;
    });
    file_.entries.push_back(entry);
    write_plan_file(arguments_.output, file_);
    return {.problem = problem, .entry = std::move(entry), .found = std::move(found)};
  }

  const TuneArguments& arguments_;
  const double seconds_;
  const HostTime::time_point begin_;
  const std::vector<Problem> problems_;
  const EngineOptions options_;
  const Engine engine_;
  MachineRates rates_;
  PlanFile file_;
};

std::string gain_text(const PlanEntry& entry) {
  if (entry.speedup == 1) return "";
  return fmt::format("{:.3f}x ({:.3f} to {:.3f})", entry.speedup, entry.low, entry.high);
}

void print_tables(const std::vector<TunedProblem>& tuned, const std::filesystem::path& output) {
  Table table({{"problem"},
               {"tokens", Align::kRight},
               {"variant"},
               {"over the choice (95 %)", Align::kRight},
               {"tried", Align::kRight},
               {"plan"}});
  int better_count = 0;
  for (const TunedProblem& one : tuned) {
    better_count += one.entry.better ? 1 : 0;
    table.add_row({one.problem.name, fmt::format("{}", one.entry.tokens), one.entry.variant,
                   gain_text(one.entry),
                   one.found
                       ? fmt::format("{} of {}", one.found->tried_count, one.found->space_size)
                       : std::string("before"),
                   one.entry.better ? Cell("takes it", Tone::kGood)
                                    : Cell("the engine's choice", Tone::kDim)});
  }
  print(table);
  for (const TunedProblem& one : tuned) {
    if (!one.entry.better) fmt::print("{}: {}\n", one.problem.name, one.entry.reason);
  }
  fmt::print(
      "\n{} of {} problems have a better variant now. Use it: thresher bench --plan {}, or "
      "EngineOptions::plan_file.\n",
      better_count, tuned.size(), shell_quoted(output.string()));
}

nlohmann::json to_json(const TunedProblem& one) {
  nlohmann::json json{
      {"problem", one.problem.name}, {"tokens", one.entry.tokens}, {"variant", one.entry.variant},
      {"choice", one.entry.choice},  {"better", one.entry.better}, {"speedup", one.entry.speedup},
      {"low", one.entry.low},        {"high", one.entry.high},     {"reason", one.entry.reason}};
  if (!one.found) return json;
  json["space"] = one.found->space_size;
  json["tried"] = one.found->tried_count;
  json["choice_us"] = one.found->choice_us;
  json["raced_speedup"] = one.found->raced_speedup;
  for (const tune::TracePoint& point : one.found->trace) {
    json["trace"].push_back({point.seconds, point.tried_count, point.speedup});
  }
  return json;
}

int run_tune(const TuneArguments& arguments) {
  const Interruption interruption(
      fmt::format("problems that are done stand in {}; the same command goes on with the others",
                  arguments.output.string()));
  const Presence presence("tune");
  TuneRun run(arguments);
  const std::vector<TunedProblem> tuned = run.run();
  if (arguments.json) {
    nlohmann::json json = nlohmann::json::array();
    for (const TunedProblem& one : tuned) json.push_back(to_json(one));
    fmt::print("{}\n", nlohmann::json{{"problems", json}}.dump());
  } else {
    print_tables(tuned, arguments.output);
  }
  return kExitOk;
}

}  // namespace

Command tune_command() {
  const auto arguments = std::make_shared<TuneArguments>();
  return {
      .name = "tune",
      .what = "Find the fastest variant for each problem within a budget; a file for the engine",
      .options = {{.name = "--suite",
                   .value = &arguments->suites,
                   .what = "Suite names or .toml files",
                   .required = true},
                  {"--problem", &arguments->problems, "Only these problems"},
                  {.name = "--tokens",
                   .value = &arguments->tokens,
                   .what =
                       "So many tokens over all groups, instead of the suite's; one problem each",
                   .range = {{1, 1 << 20}},
                   .default_text = "the suite's"},
                  backend_option(arguments->backend),
                  contestant_threads_option(arguments->thread_count),
                  {.name = "--budget",
                   .value = &arguments->budget,
                   .what = "Time for all of it: 90s, 5m, 1h"},
                  {.name = "-o,--output",
                   .value = &arguments->output,
                   .what = "The plan; what it has already stays",
                   .required = true},
                  {.name = "--seed", .value = &arguments->seed, .what = "Of the search's luck"},
                  terms_option(arguments->terms),
                  {"--again", &arguments->again, "Also problems that the plan has already"},
                  json_flag(arguments->json)},
      .run = [arguments] { return run_tune(*arguments); }};
}

}  // namespace thresher::cli
