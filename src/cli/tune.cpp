// SPDX-License-Identifier: Apache-2.0
// thresher tune: the best plan for your shapes within a budget, in a file that the engine loads.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/backend_option.hpp"
#include "cli/bench_layer.hpp"
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
#include "cli/tune_problems.hpp"
#include "cli/tune_simulate.hpp"
#include "engine/plan_file.hpp"
#include "thresher/error.hpp"
#include "tune/recorded_space.hpp"
#include "tune/tuner.hpp"

namespace thresher::cli {
namespace {

using HostTime = std::chrono::steady_clock;

constexpr double kCeilingSeconds = 0.3;

// What is lost at most when somebody interrupts it.
constexpr double kSaveSeconds = 1;

struct TuneArguments {
  std::string backend;
  TuneSelection selection;
  std::vector<std::string> tokens;
  int thread_count = 0;
  std::string budget = "5m";
  std::filesystem::path output;
  std::uint64_t seed = 1;
  std::vector<std::string> terms;
  bool again = false;
  bool sham = false;
  std::filesystem::path sweep;  // empty: no
  TuneSimulation simulation;
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

double seconds_between(HostTime::time_point begin, HostTime::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// What a plan has for a problem: an entry, or an unfinished search.
template <class Item>
auto item_of(std::vector<Item>& items, const Problem& problem) {
  return std::find_if(items.begin(), items.end(), [&](const Item& item) {
    return item.of == *plan_class(problem) && item.tokens == token_count(problem);
  });
}

template <class Item>
void replace_item(std::vector<Item>& items, const Problem& problem, Item item) {
  const auto found = item_of(items, problem);
  if (found == items.end()) {
    items.push_back(std::move(item));
  } else {
    *found = std::move(item);
  }
}

PlanEntry entry_from(const Problem& problem, const tune::Catch& found) {
  const Estimate& speedup = found.ruling.speedup;
  return {.of = *plan_class(problem),
          .tokens = token_count(problem),
          .variant = found.state.variant,
          .choice = found.state.choice,
          .better = found.ruling.accepted,
          .speedup = speedup.value,
          .low = speedup.low,
          .high = speedup.high,
          .reason = found.ruling.reason};
}

PlanSearch search_from(const Problem& problem, const tune::HuntState& state, double seconds) {
  PlanSearch search{
      .of = *plan_class(problem), .tokens = token_count(problem), .seconds = seconds, .trials = {}};
  for (const tune::Trial& trial : state.trials) {
    search.trials.push_back({trial.variant, trial.speedup});
  }
  return search;
}

struct TunedProblem {
  Problem problem;
  PlanEntry entry;
  std::optional<tune::Catch> found;  // nothing: the file had it already
};

std::string hunt_text(const tune::HuntState& state, double seconds_left) {
  if (state.at_the_referee) {
    return fmt::format("the referee plays {} against the engine's choice, {:.0f} s left",
                       state.variant, seconds_left);
  }
  std::string best = state.variant == state.choice
                         ? "the engine's choice is the best so far"
                         : fmt::format("best {:.3f}x {}", state.raced_speedup, state.variant);
  return fmt::format("{} of {} tried, {:.0f} s left, {}", state.tried_count, state.space_size,
                     std::max(0.0, seconds_left), best);
}

class TuneRun {
 public:
  explicit TuneRun(const TuneArguments& arguments)
      : arguments_(arguments),
        problems_(problems_to_tune(arguments.selection)),
        options_(options_from(arguments)),
        engine_(options_),
        progress_(static_cast<std::int64_t>(problems_.size()), {}) {
    file_.fingerprint = fingerprint_of(engine_.state());
    take_up();
    std::vector<SelectedProblem> asked;
    for (const Problem& problem : problems_) {
      if (needs(problem)) asked.push_back({.suite = {}, .suite_argument = {}, .problem = problem});
    }
    check_cold_problems_fit(asked);
    left_ = asked.size();
  }

  // All variants of the one problem there is, as a recorded space.
  void sweep() {
    if (problems_.size() != 1) {
      throw UsageError(
          fmt::format("--sweep takes one problem, and these are {}", problems_.size()));
    }
    rates_ = engine_.state().measure_ceilings(kCeilingSeconds).rates;
    tune::TuneOptions options = options_of_one();
    progress_.begin_step(problems_[0].name);
    options.hunt.watch = [&](const tune::HuntState& state) {
      progress_.update(fmt::format("{} of {} variants", state.tried_count, state.space_size));
    };
    const tune::Sweep swept = tune::sweep(engine_, problems_[0], options);
    progress_.clear();
    std::map<std::string, double> us{{swept.state.choice, swept.state.choice_us}};
    for (const tune::Trial& trial : swept.state.trials) {
      us[trial.variant] = trial.speedup > 0 ? swept.state.choice_us / trial.speedup : 0;
    }
    std::ofstream stream(arguments_.sweep);
    stream << tune::recorded_space_to_json(swept.space, us);
    if (!stream.flush()) throw Error(fmt::format("cannot write {}", arguments_.sweep.string()));
    fmt::print("{} variants of {}; try the search on them: thresher tune --simulate {}\n",
               us.size(), problems_[0].name, shell_quoted(arguments_.sweep.string()));
  }

  std::vector<TunedProblem> run() {
    share_out(seconds_from(arguments_.budget));
    if (left_ > 0) rates_ = engine_.state().measure_ceilings(kCeilingSeconds).rates;
    std::vector<TunedProblem> tuned;
    for (const Problem& problem : problems_) {
      progress_.begin_step(problem.name);
      if (needs(problem)) {
        tuned.push_back(tune_one(problem));
      } else {
        tuned.push_back(
            {.problem = problem, .entry = *item_of(file_.entries, problem), .found = {}});
      }
    }
    progress_.clear();
    return tuned;
  }

 private:
  static EngineOptions options_from(const TuneArguments& arguments) {
    EngineOptions options = engine_options(resolve_backend(arguments.backend));
    if (options.device == "cpu") options.thread_count = contestant_threads(arguments.thread_count);
    return options;
  }

  // Each problem has the same share of the budget. What the file has is done; what an earlier run
  // spent on a search that it could not finish is spent.
  void share_out(double budget) {
    seconds_left_ = budget * static_cast<double>(left_) / static_cast<double>(problems_.size());
    const std::string device = engine_.description();
    fmt::print(stderr, "{} of {} problems to tune in {:.0f} s on {}\n", left_, problems_.size(),
               seconds_left_, device);
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
    if (!arguments_.again) return;
    for (const Problem& problem : problems_) {
      if (const auto at = item_of(file_.entries, problem); at != file_.entries.end()) {
        file_.entries.erase(at);
      }
      if (const auto at = item_of(file_.unfinished, problem); at != file_.unfinished.end()) {
        file_.unfinished.erase(at);
      }
    }
  }

  void save() const {
    if (!arguments_.sham) write_plan_file(arguments_.output, file_);
  }

  bool needs(const Problem& problem) {
    return item_of(file_.entries, problem) == file_.entries.end();
  }

  TunedProblem tune_one(const Problem& problem) {
    tune::TuneOptions options = options_of_one();
    options.sham = arguments_.sham;
    const double seconds = seconds_left_ / static_cast<double>(left_--);
    options.hunt.seconds = std::max(1.0, seconds);
    options.match.thread_count = options_.thread_count;
    options.match.gpu = gpu_engine_options();
    options.match.confinement.hidden = hidden_from_contestants();
    if (const auto at = item_of(file_.unfinished, problem); at != file_.unfinished.end()) {
      options.hunt.earlier_seconds = at->seconds;
      for (const PlanSearch::Trial& trial : at->trials) {
        options.hunt.earlier.push_back({trial.variant, trial.speedup});
      }
    }
    const HostTime::time_point begin = HostTime::now();
    HostTime::time_point saved = begin;
    bool announced = false;
    options.hunt.watch = [&](const tune::HuntState& state) {
      const HostTime::time_point now = HostTime::now();
      const double passed = options.hunt.earlier_seconds + seconds_between(begin, now);
      if (!std::exchange(announced, true)) announce(problem, state, options.hunt);
      progress_.update(
          fmt::format("{}: {}", problem.name, hunt_text(state, options.hunt.seconds - passed)));
      if (state.trials.empty() || seconds_between(saved, now) < kSaveSeconds) return;
      saved = now;
      replace_item(file_.unfinished, problem, search_from(problem, state, passed));
      save();
    };
    tune::Catch found = tune::tune(engine_, problem, options);
    seconds_left_ -= options.hunt.earlier_seconds + seconds_between(begin, HostTime::now());
    return keep(problem, std::move(found));
  }

  tune::TuneOptions options_of_one() const {
    return {
        .hunt = {.seed = arguments_.seed}, .rates = rates_, .terms = terms_from(arguments_.terms)};
  }

  // What there is to search, and how.
  void announce(const Problem& problem, const tune::HuntState& state,
                const tune::HuntOptions& options) {
    progress_.clear();
    fmt::print(stderr,
               "{}: {} variants, {:.0f} s: the model of time's favourites, then what trees "
               "and neighbours propose, in races; the referee decides\n",
               problem.name, state.space_size, options.seconds);
    if (options.earlier.empty()) return;
    fmt::print(stderr, "{}: goes on after {:.0f} s and {} variants\n", problem.name,
               options.earlier_seconds, options.earlier.size());
  }

  TunedProblem keep(const Problem& problem, tune::Catch found) {
    PlanEntry entry = entry_from(problem, found);
    replace_item(file_.entries, problem, entry);
    if (const auto at = item_of(file_.unfinished, problem); at != file_.unfinished.end()) {
      file_.unfinished.erase(at);
    }
    save();
    return {.problem = problem, .entry = std::move(entry), .found = std::move(found)};
  }

  const TuneArguments& arguments_;
  const std::vector<Problem> problems_;
  const EngineOptions options_;
  const Engine engine_;
  Progress progress_;
  MachineRates rates_;
  PlanFile file_;
  std::size_t left_ = 0;     // problems still to tune
  double seconds_left_ = 0;  // for them
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
                   one.found ? fmt::format("{} of {}", one.found->state.tried_count,
                                           one.found->state.space_size)
                             : std::string("before"),
                   one.entry.better ? Cell("takes it", Tone::kGood)
                                    : Cell("the engine's choice", Tone::kDim)});
  }
  print(table);
  for (const TunedProblem& one : tuned) {
    if (!one.entry.better) fmt::print("{}: {}\n", one.problem.name, one.entry.reason);
  }
  if (output.empty()) {
    fmt::print("\n{} of {} problems have a better variant, and none can have one.\n", better_count,
               tuned.size());
    return;
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
  const tune::HuntState& state = one.found->state;
  json["space"] = state.space_size;
  json["tried"] = state.tried_count;
  json["choice_us"] = state.choice_us;
  json["raced_speedup"] = state.raced_speedup;
  for (const tune::TracePoint& point : state.trace) {
    json["trace"].push_back({point.seconds, point.tried_count, point.speedup});
  }
  return json;
}

int run_tune(TuneArguments& arguments) {
  if (!arguments.simulation.files.empty()) {
    arguments.simulation.seed = arguments.seed;
    arguments.simulation.json = arguments.json;
    simulate_tuning(arguments.simulation);
    return kExitOk;
  }
  arguments.selection.tokens = token_counts_of(arguments.tokens);
  if (!arguments.sweep.empty()) {
    const Interruption interruption("nothing of it is kept");
    const Presence presence("tune");
    TuneRun(arguments).sweep();
    return kExitOk;
  }
  if (arguments.sham && !arguments.output.empty()) {
    throw UsageError("--sham finds nothing worth keeping: it goes without --output");
  }
  if (arguments.output.empty() && !arguments.sham)
    throw UsageError("say where the plan goes: --output plan.json");
  const Interruption interruption(
      arguments.sham
          ? "nothing of it is kept"
          : fmt::format("what was found so far stands in {}; the same command goes on from there",
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
                   .value = &arguments->selection.suites,
                   .what = "Suite names or .toml files"},
                  {"--problem", &arguments->selection.problems, "Only these problems of the suite"},
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
                  backend_option(arguments->backend),
                  contestant_threads_option(arguments->thread_count),
                  {.name = "--budget",
                   .value = &arguments->budget,
                   .what = "Time for all of it: 90s, 5m, 1h"},
                  {.name = "-o,--output",
                   .value = &arguments->output,
                   .what = "The plan; what it has already stays"},
                  {.name = "--seed", .value = &arguments->seed, .what = "Of the search's luck"},
                  terms_option(arguments->terms),
                  {"--again", &arguments->again, "Also problems that the plan has already"},
                  {"--sham", &arguments->sham,
                   "A proof, no plan: all variants are the engine's choice in truth"},
                  {.name = "--sweep",
                   .value = &arguments->sweep,
                   .what =
                       "Instead of a plan: time every variant of one problem, into this T4 file"},
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
}

}  // namespace thresher::cli
