// SPDX-License-Identifier: Apache-2.0
// thresher tune: the best plan for your shapes within a budget, in a file that the engine loads.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/backend_option.hpp"
#include "cli/bench_layer.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/contestant_threads.hpp"
#include "cli/interruption.hpp"
#include "cli/presence.hpp"
#include "cli/selection.hpp"
#include "cli/table.hpp"
#include "cli/terms_option.hpp"
#include "cli/tune_simulate.hpp"
#include "cli/tune_there.hpp"
#include "engine/backends.hpp"
#include "tank/pitch/constraint.hpp"
#include "thresher/error.hpp"

namespace thresher::cli {
namespace {

struct TuneArguments {
  TuneRules rules;
  TuneSelection selection;
  std::vector<std::string> tokens;
  std::string budget = "5m";
  std::filesystem::path output;
  std::vector<std::string> terms;
  std::vector<std::filesystem::path> constraints;
  std::filesystem::path sweep;  // empty: no
  TuneSimulation simulation;
  ClusterOptions cluster;
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

std::string gain_text(const PlanEntry& entry) {
  if (entry.speedup == 1) return "";
  return fmt::format("{:.3f}x ({:.3f} to {:.3f})", entry.speedup, entry.low, entry.high);
}

bool is_of_one_machine(const std::vector<TunedProblem>& tuned) {
  return std::all_of(tuned.begin(), tuned.end(),
                     [&](const TunedProblem& one) { return one.machine == tuned.front().machine; });
}

std::string tried_text(const TunedProblem& one) {
  if (!one.is_new) return "before";
  return one.entry.story ? fmt::format("{} of {}", one.entry.story->tried, one.entry.story->space)
                         : "";
}

void print_table(const std::vector<TunedProblem>& tuned) {
  const bool one_machine = is_of_one_machine(tuned);
  std::vector<Column> columns{{"problem"},
                              {"tokens", Align::kRight},
                              {"variant"},
                              {"over the choice (95 %)", Align::kRight},
                              {"tried", Align::kRight},
                              {"plan"}};
  if (!one_machine) columns.insert(columns.begin() + 1, {"machine"});
  Table table(columns);
  for (const TunedProblem& one : tuned) {
    std::vector<Cell> cells{
        one.problem.name,
        fmt::format("{}", one.entry.tokens),
        one.entry.variant,
        gain_text(one.entry),
        tried_text(one),
        one.entry.better ? Cell("takes it", Tone::kGood) : Cell("the engine's choice", Tone::kDim)};
    if (!one_machine) cells.insert(cells.begin() + 1, to_string(one.machine));
    table.add_row(cells);
  }
  print(table);
}

// Of a plan that was made with another number of threads than an engine takes unasked.
int unusual_threads(const std::vector<TunedProblem>& tuned) {
  const PlanFingerprint& machine = tuned.front().machine;
  const Backend* row = find_backend(machine.backend);
  const bool is_usual = row == nullptr || machine.thread_count == row->threads(0);
  return is_usual || !is_of_one_machine(tuned) ? 0 : static_cast<int>(machine.thread_count);
}

std::string how_to_use(const std::vector<TunedProblem>& tuned, const std::filesystem::path& plan) {
  const std::string bench = "thresher bench --plan " + shell_quoted(plan.string());
  const int threads = unusual_threads(tuned);
  if (threads == 0) return fmt::format("Use it: {}, or EngineOptions::plan_file.", bench);
  return fmt::format(
      "It is for {0} thread{1}: {2} --threads {0}, or EngineOptions::plan_file with thread_count = "
      "{0}.",
      threads, threads == 1 ? "" : "s", bench);
}

void print_tables(const std::vector<TunedProblem>& tuned, const std::filesystem::path& output) {
  print_table(tuned);
  for (const TunedProblem& one : tuned) {
    if (!one.entry.better) fmt::print("{}: {}\n", one.problem.name, one.entry.reason);
  }
  const auto better_count = std::count_if(tuned.begin(), tuned.end(),
                                          [](const TunedProblem& one) { return one.entry.better; });
  if (output.empty()) {
    fmt::print("\n{} of {} problems have a better variant, and none can have one.\n", better_count,
               tuned.size());
    return;
  }
  if (better_count == 0) {
    fmt::print("\nNo problem has a better variant: the engine's choice stays.\n");
    return;
  }
  fmt::print("\n{} of {} problems have a better variant now. {}\n", better_count, tuned.size(),
             how_to_use(tuned, output));
}

nlohmann::json to_json(const TunedProblem& one) {
  nlohmann::json json{{"problem", one.problem.name},  {"tokens", one.entry.tokens},
                      {"variant", one.entry.variant}, {"choice", one.entry.choice},
                      {"better", one.entry.better},   {"speedup", one.entry.speedup},
                      {"low", one.entry.low},         {"high", one.entry.high},
                      {"reason", one.entry.reason},   {"machine", to_string(one.machine)}};
  if (!one.is_new || !one.entry.story) return json;
  const PlanStory& story = *one.entry.story;
  json["space"] = story.space;
  json["tried"] = story.tried;
  json["choice_us"] = story.choice_us;
  for (const PlanStory::Moment& moment : story.trace) {
    json["trace"].push_back({moment.seconds, moment.tried, moment.speedup});
  }
  return json;
}

int report_tuning(const TunedThere& result, const TuneArguments& arguments) {
  if (arguments.json) {
    nlohmann::json json = nlohmann::json::array();
    for (const TunedProblem& one : result.tuned) json.push_back(to_json(one));
    fmt::print("{}\n", nlohmann::json{{"problems", json}, {"failures", result.failures}}.dump());
  } else if (!result.tuned.empty()) {
    print_tables(result.tuned, arguments.output);
  }
  for (const std::string& failure : result.failures) fmt::print(stderr, "not tuned: {}\n", failure);
  return result.failures.empty() ? kExitOk : kExitFailure;
}

int run_sweep(const TuneArguments& arguments, const std::vector<Problem>& problems) {
  if (problems.size() != 1) {
    throw UsageError(fmt::format("--sweep takes one problem, and these are {}", problems.size()));
  }
  const Interruption interruption("nothing of it is kept");
  const Presence presence("tune");
  const SweptProblem swept = sweep_here(problems[0], arguments.rules);
  std::ofstream stream(arguments.sweep);
  stream << swept.t4;
  if (!stream.flush()) throw Error(fmt::format("cannot write {}", arguments.sweep.string()));
  const double speedup = swept.choice_us / swept.best_us;
  if (arguments.json) {
    fmt::print("{}\n", nlohmann::json{{"problem", problems[0].name},
                                      {"variants", swept.variant_count},
                                      {"fastest", swept.best},
                                      {"speedup", speedup},
                                      {"choice_us", swept.choice_us}}
                           .dump());
    return kExitOk;
  }
  fmt::print(
      "{} variants of {}. The fastest: {}, {:.3f}x the speed of the engine's choice\n"
      "Try the search on them: thresher tune --simulate {}\n",
      swept.variant_count, problems[0].name, swept.best, speedup,
      shell_quoted(arguments.sweep.string()));
  return kExitOk;
}

std::string advice_of(const TuneArguments& arguments) {
  if (arguments.rules.sham) return "nothing of it is kept";
  return fmt::format("what was found so far stands in {}{}; the same command goes on from there",
                     arguments.output.string(),
                     arguments.cluster.is_remote() ? ", its tasks stay in Slurm's queue" : "");
}

void check_arguments(const TuneArguments& arguments) {
  check_cluster(arguments.cluster);
  const bool only_here = arguments.rules.sham || !arguments.sweep.empty();
  if (arguments.cluster.is_remote() && only_here) {
    throw UsageError("--sham and --sweep are for this machine: leave --on out");
  }
  if (!arguments.sweep.empty()) {
    if (arguments.output.empty() && !arguments.rules.sham) return;
    throw UsageError("--sweep is no plan: it goes without --output and --sham");
  }
  if (arguments.rules.sham && !arguments.output.empty()) {
    throw UsageError("--sham finds nothing worth keeping: it goes without --output");
  }
  if (arguments.output.empty() && !arguments.rules.sham) {
    throw UsageError("say where the plan goes: --output plan.json");
  }
}

// Faults are found before a node or a device is asked.
std::string constraints_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!stream && text.empty()) throw UsageError(fmt::format("cannot read {}", file.string()));
  parse_constraints(text, file.string());
  return text;
}

int run_tune(TuneArguments& arguments) {
  if (!arguments.simulation.files.empty()) {
    arguments.simulation.seed = arguments.rules.seed;
    arguments.simulation.json = arguments.json;
    simulate_tuning(arguments.simulation);
    return kExitOk;
  }
  check_arguments(arguments);
  arguments.selection.tokens = token_counts_of(arguments.tokens);
  arguments.rules.seconds = seconds_from(arguments.budget);
  arguments.rules.terms = terms_from(arguments.terms);
  for (const std::filesystem::path& file : arguments.constraints) {
    arguments.rules.constraints.push_back(constraints_in(file));
  }
  const std::vector<Problem> problems = problems_to_tune(arguments.selection);
  if (!arguments.sweep.empty()) return run_sweep(arguments, problems);
  TunedPlan plan(arguments.output);
  const Interruption interruption(advice_of(arguments));
  if (arguments.cluster.is_remote()) {
    return report_tuning(tune_there(problems, arguments.rules, arguments.cluster, plan), arguments);
  }
  const Presence presence("tune");
  return report_tuning({tune_here(problems, arguments.rules, plan), {}}, arguments);
}

}  // namespace

Command tune_command() {
  const auto arguments = std::make_shared<TuneArguments>();
  Command command{
      .name = "tune",
      .what = "Find the fastest variant for each problem within a budget; a file for the engine",
      .options =
          {{.name = "--suite",
            .value = &arguments->selection.suites,
            .what = "Suite names or .toml files"},
           {"--problem", &arguments->selection.problems,
            "Only these problems of the suite, or products of the layers"},
           {.name = "--model",
            .value = &arguments->selection.models,
            .what = "Instead of a suite: layers of models, all, or "
                    "HIDDENxINTERMEDIATExEXPERTSxTOP_K (docs/moe.md)"},
           {.name = "--checkpoint",
            .value = &arguments->selection.checkpoint,
            .what = "Instead of a suite: the layers of this checkpoint"},
           {.name = "--tokens",
            .value = &arguments->tokens,
            .what = "One problem each: tokens of a call of a layer, or over all groups of a "
                    "suite's problem, as in 1,16,64",
            .default_text = "the suite's; of layers 1,16,64,256"},
           {.name = "--activations",
            .value = &arguments->selection.activations,
            .what = "What is multiplied with the weights",
            .words = {"nvfp4", "fp16", "bf16"},
            .default_text = "the suite's; of layers bf16"},
           backend_option(arguments->rules.backend),
           contestant_threads_option(arguments->rules.thread_count),
           {.name = "--budget",
            .value = &arguments->budget,
            .what = "Time for all of it: 90s, 5m, 1h"},
           {.name = "-o,--output",
            .value = &arguments->output,
            .what = "The plan; what it has already stays"},
           {.name = "--seed", .value = &arguments->rules.seed, .what = "Of the search's luck"},
           terms_option(arguments->terms),
           {"--constraints", &arguments->constraints,
            "Files of constraints (docs/pitches.md): variants that they veto are not tried"},
           {"--again", &arguments->rules.again, "Also problems that the plan has already"},
           {"--sham", &arguments->rules.sham,
            "A proof, no plan: all variants are the engine's choice in truth"},
           {"--at-random", &arguments->rules.at_random,
            "A comparison: nothing but luck proposes what to try"},
           {.name = "--sweep",
            .value = &arguments->sweep,
            .what = "Instead of a plan: time every variant of one problem, into this T4 file"},
           {.name = "--simulate",
            .value = &arguments->simulation.files,
            .what = "Tune nothing: try the search on recorded spaces (T4 files)"},
           {.name = "--runs",
            .value = &arguments->simulation.run_count,
            .what = "With --simulate: runs per space",
            .range = {{1, 100000}}},
           {.name = "--budget-share",
            .value = &arguments->simulation.budget_share,
            .what = "With --simulate: trials, as a share of the space",
            .range = {{0.0001, 1}}},
           json_flag(arguments->json)},
      .run = [arguments] { return run_tune(*arguments); }};
  for (Option& one : cluster_options(arguments->cluster)) {
    command.options.push_back(std::move(one));
  }
  return command;
}

}  // namespace thresher::cli
