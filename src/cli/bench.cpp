// SPDX-License-Identifier: Apache-2.0
// thresher bench: variants and peers on the problems of a suite, side by side.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <memory>
#include <set>

#include "bench/peers.hpp"
#include "cli/backend_option.hpp"
#include "cli/bench_layer.hpp"
#include "cli/bench_report.hpp"
#include "cli/ceiling_doubt.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/memory_check.hpp"
#include "cli/presence.hpp"
#include "cli/progress.hpp"
#include "cli/selection.hpp"
#include "measure/series.hpp"
#include "measure/variant_entrant.hpp"

namespace thresher::cli {
namespace {

using measure::Entrant;
using measure::Timing;
using measure::VariantEntrant;

constexpr const char* kEnginesChoice = "the engine's choice";
// Of a layer's calls.
constexpr const char* kTokenCounts = "1,16,64,256";

struct BenchOptions {
  std::string backend;
  std::string device;
  std::vector<std::string> suites;
  std::vector<std::string> problems;
  std::vector<std::string> variants;
  std::vector<int> thread_counts;
  std::filesystem::path plan;
  std::string op;
  std::string activations;
  std::string output;
  // Empty where nobody says.
  std::string timing;  // what surrounds a timed call: "foreign"
  std::string launch;  // GPU only: how samples launch their calls: "graph"
  std::string sizes;   // who knows the group sizes: "host"
  double seconds = 3;
  std::uint64_t seed = 1;
  bool peers = false;
  bool json = false;
  // Of layers instead of a suite.
  std::vector<std::string> layers;
  std::vector<std::string> token_counts;  // empty where nobody says
  int expert_limit = 0;
  std::string routing;  // empty where nobody says
  bool batch_invariant = false;
};

// The suites' problems with what the options say instead.
std::vector<SelectedProblem> problems_of(const BenchOptions& options) {
  std::vector<SelectedProblem> problems = select_problems(options.suites, options.problems);
  for (SelectedProblem& selected : problems) {
    Problem& problem = selected.problem;
    if (!options.op.empty()) problem.op = op_from_string(options.op);
    if (!options.activations.empty()) {
      problem.activations = activations_from_string(options.activations);
    }
    if (!options.output.empty()) problem.output = output_from_string(options.output);
  }
  return problems;
}

// A layer's calls follow each other if nobody says otherwise.
measure::Surroundings surroundings_of(const BenchOptions& options) {
  if (!options.timing.empty()) return measure::surroundings_from_string(options.timing);
  return options.layers.empty() ? measure::Surroundings::kForeign
                                : measure::Surroundings::kBackToBack;
}

// What threads compute is done at once, and nobody launches it.
bool graph_of(const BenchOptions& options, const Engine& engine) {
  if (!options.launch.empty() && engine.thread_count() > 0) {
    throw UsageError(fmt::format("--launch is for a GPU: on {} nothing is launched, leave it out",
                                 engine.device()));
  }
  return options.launch != "eager";
}

void check_layer_options(const BenchOptions& options) {
  const std::pair<const char*, bool> of_suites[] = {{"--problem", !options.problems.empty()},
                                                    {"--variant", !options.variants.empty()},
                                                    {"--op", !options.op.empty()},
                                                    {"--output", !options.output.empty()},
                                                    {"--sizes", !options.sizes.empty()},
                                                    {"--peers", options.peers}};
  for (const auto& [name, given] : of_suites) {
    if (!given) continue;
    throw UsageError(fmt::format("{} is for --suite: --layer times the engine's choice", name));
  }
  if (options.thread_counts.size() > 1) throw UsageError("--layer takes one number of --threads");
}

void check_suite_options(const BenchOptions& options) {
  const std::pair<const char*, bool> of_layers[] = {{"--tokens", !options.token_counts.empty()},
                                                    {"--experts", options.expert_limit > 0},
                                                    {"--routing", !options.routing.empty()},
                                                    {"--batch-invariant", options.batch_invariant}};
  for (const auto& [name, given] : of_layers) {
    if (!given) continue;
    throw UsageError(fmt::format("{} is for --layer: a suite's problems say their own", name));
  }
}

// Thread counts of the CPU have a lane each; every other device has one.
std::vector<EngineOptions> lanes_of(const BenchOptions& options) {
  EngineOptions base =
      engine_options(resolve_backend(options.backend, options.variants), options.device);
  if (!options.plan.empty()) base.plan_file = options.plan;
  if (options.thread_counts.empty()) return {base};
  std::vector<EngineOptions> lanes;
  for (const int count : distinct(options.thread_counts)) {
    lanes.push_back(base);
    lanes.back().thread_count = count;
  }
  return lanes;
}

// An engine, and the ceilings it reached.
struct Lane {
  Engine engine;
  BenchLane lane;
  std::unique_ptr<bench::Peers> peers;
};

class Bench {
 public:
  explicit Bench(const BenchOptions& options)
      : options_(options),
        problems_(problems_of(options)),
        lane_options_(lanes_of(options)),
        progress_(static_cast<std::int64_t>(lane_options_.size() * (problems_.size() + 1)), {}) {
    check_variant_names(options.variants);
  }

  std::vector<BenchRow> run() {
    check_cold_problems_fit(problems_, backend_of_device(lane_options_.front().device));
    for (const EngineOptions& options : lane_options_) open_lane(options);
    for (const SelectedProblem& selected : problems_) {
      const Inputs inputs = make_inputs(selected.problem, InputFamily::kNatural, options_.seed);
      for (Lane& lane : lanes_) {
        progress_.begin_step(fmt::format("{} {} on {}", selected.suite, selected.problem.name,
                                         lane.lane.ceilings.title));
        run_problem(lane, selected, inputs);
      }
    }
    progress_.clear();
    return std::move(rows_);
  }

 private:
  void open_lane(const EngineOptions& options) {
    Lane& lane = lanes_.emplace_back(Lane{.engine = Engine(options), .lane = {}, .peers = {}});
    progress_.begin_step(fmt::format("measuring {}", lane.engine.description()));
    if (!lane.engine.plan_note().empty()) tell(lane.engine.plan_note());
    lane.lane.backend = lane.engine.state().row().name;
    lane.lane.thread_count = lane.engine.thread_count();
    lane.lane.ceilings = lane.engine.state().measure_ceilings(ceiling_seconds());
    if (!options_.peers) return;
    std::vector<Problem> problems;
    for (const SelectedProblem& selected : problems_) problems.push_back(selected.problem);
    lane.peers = bench::find_peers(lane.engine, {.problems = std::move(problems)});
  }

  // Beside the calls that cast the doubt, and for all rows of the lane.
  void doubt_ceilings(Lane& lane, const Problem& problem, double us) {
    const double floor_before = speed_of_light(problem, lane.lane.ceilings.rates).floor_us();
    lane.lane.ceilings = believable_ceilings(std::move(lane.lane.ceilings), problem, us, [&] {
      return lane.engine.state().measure_ceilings(ceiling_seconds());
    });
    if (speed_of_light(problem, lane.lane.ceilings.rates).floor_us() == floor_before) return;
    for (BenchRow& row : rows_) {
      if (row.lane.ceilings.title != lane.lane.ceilings.title) continue;
      row.lane = lane.lane;
      row.light = speed_of_light(row.problem, lane.lane.ceilings.rates);
    }
  }

  // Measuring the machine should not take longer than measuring a problem.
  double ceiling_seconds() const { return std::clamp(options_.seconds, 0.1, 1.5); }

  void run_problem(Lane& lane, const SelectedProblem& selected, const Inputs& inputs) {
    const Problem& problem = selected.problem;
    measure::ColdProblem cold(lane.engine, problem, inputs);
    const std::unique_ptr<measure::Clock> clock =
        measure::make_clock(lane.engine, {.surroundings = surroundings_of(options_),
                                          .graph = graph_of(options_, lane.engine),
                                          .copy_count = cold.copy_count()});
    std::deque<VariantEntrant> variants;  // entrants point at them
    std::vector<std::string> asked;
    enter_variants(lane.engine, problem, cold, variants, asked);
    if (variants.empty()) return;
    std::vector<Entrant> entrants;
    for (VariantEntrant& variant : variants) entrants.push_back(variant.entrant(clock->stream()));
    const bench::PeerEntrants peers =
        peers_for(lane, problem, inputs, cold.copy_count(), clock->stream());
    entrants.insert(entrants.end(), peers.entrants.begin(), peers.entrants.end());

    measure::Witness witness(lane.engine, problem, inputs, {.seed = options_.seed});
    witness.testify(inputs);
    const std::vector<Timing> timings = played(
        lane, *clock, entrants, measure::by_witness(witness),
        {.seconds = options_.seconds, .seed = options_.seed, .copy_count = cold.copy_count()});
    for (const Timing& timing : timings) doubt_ceilings(lane, problem, timing.us.median);
    const int sm_mhz = lane.engine.state().clock_mhz();
    const bool queues = clock->stream() != nullptr;
    const auto first_peer = timings.begin() + static_cast<std::ptrdiff_t>(variants.size());
    for (std::size_t i = 0; i < variants.size(); ++i) {
      add_row(
          {.suite = selected.suite,
           .problem = problem,
           .entrant = asked[i],
           .variant = variants[i].variant(),
           .weight_copies = cold.copy_count(),
           .lane = lane.lane,
           .timed = clock->description(),
           .light = speed_of_light(problem, lane.lane.ceilings.rates),
           .timing = timings[i],
           .peers = {first_peer, timings.end()},
           .host_us = queues ? measure::host_us(lane.engine, entrants[i], cold.copy_count()) : 0,
           .sm_mhz = sm_mhz});
    }
  }

  bench::PeerEntrants peers_for(Lane& lane, const Problem& problem, const Inputs& inputs,
                                std::size_t copy_count, void* stream) {
    if (!lane.peers) return {};
    bench::PeerEntrants peers = lane.peers->make(problem, inputs, copy_count, stream);
    for (const std::string& note : peers.notes) tell(fmt::format("{}: {}", problem.name, note));
    if (peers.entrants.empty()) {
      throw Error(fmt::format("there are no peers for {}; install one, or leave --peers out",
                              problem.name));
    }
    return peers;
  }

  // A peer that ends on the way is left out, and those that share its process; the rest play again.
  std::vector<Timing> played(Lane& lane, measure::Clock& clock, std::vector<Entrant>& entrants,
                             const measure::Judge& judge, const measure::SeriesOptions& options) {
    while (true) {
      try {
        return measure::play_series(clock, entrants, judge, options);
      } catch (const bench::PeerEnded& ended) {
        tell(ended.what());
        const std::vector<std::string> gone = lane.peers->end(ended);
        std::erase_if(entrants, [&](const Entrant& entrant) {
          return std::find(gone.begin(), gone.end(), entrant.name) != gone.end();
        });
      }
    }
  }

  // A variant that cannot run a problem is left out, and stderr says why.
  void enter_variants(const Engine& engine, const Problem& problem, measure::ColdProblem& cold,
                      std::deque<VariantEntrant>& variants, std::vector<std::string>& asked) {
    const bool device_counts = options_.sizes == "device";
    if (options_.variants.empty()) {
      variants.emplace_back(engine, problem, "", cold, device_counts);
      asked.emplace_back(kEnginesChoice);
    }
    for (const std::string& variant : distinct(options_.variants)) {
      const Support support = engine.supports(problem, variant);
      if (support.ok) {
        variants.emplace_back(engine, problem, variant, cold, device_counts);
        asked.push_back(variant);
      } else {
        tell(fmt::format("{}: {} left out: {}", problem.name, variant, support.why_not));
      }
    }
  }

  void tell(const std::string& text) {
    progress_.clear();
    fmt::print(stderr, "thresher: {}\n", text);
  }

  void add_row(BenchRow row) {
    if (options_.json) {
      progress_.clear();
      print_json_line(row);
    }
    rows_.push_back(std::move(row));
  }

  const BenchOptions options_;
  const std::vector<SelectedProblem> problems_;
  const std::vector<EngineOptions> lane_options_;
  Progress progress_;
  std::deque<Lane> lanes_;  // entrants point at the engines
  std::vector<BenchRow> rows_;
};

// What was computed wrong, in timed calls.
std::set<std::string> broken_contracts(const std::vector<BenchRow>& rows) {
  std::set<std::string> broken;
  const auto judge = [&](const BenchRow& row, const Timing& timing) {
    if (timing.first_failure.empty()) return;
    broken.insert(fmt::format("{}: {} broke the arithmetic contract: {}", row.problem.name,
                              timing.name, timing.first_failure));
  };
  for (const BenchRow& row : rows) {
    judge(row, row.timing);
    for (const Timing& peer : row.peers) judge(row, peer);
  }
  return broken;
}

// A time below the floor means that the floor was measured while the machine was busier, each time.
std::set<std::string> doubts(const std::vector<BenchRow>& rows) {
  std::set<std::string> doubtful;
  for (const BenchRow& row : rows) {
    if (row.share_of_light() <= 1) continue;
    doubtful.insert(fmt::format(
        "{}: {} on {} took {:.0f} us, less than the {:.0f} us of its speed of light: the "
        "ceiling is too low, the machine was busy whenever it was measured; repeat on a "
        "quiet one",
        row.problem.name, row.variant, row.lane.ceilings.title, row.timing.us.median,
        row.light.floor_us()));
  }
  return doubtful;
}

int run_layers(const BenchOptions& options) {
  check_layer_options(options);
  EngineOptions engine_of = engine_options(resolve_backend(options.backend), options.device);
  if (!options.thread_counts.empty()) engine_of.thread_count = options.thread_counts.front();
  if (!options.plan.empty()) engine_of.plan_file = options.plan;
  const Engine engine(engine_of);
  if (!engine.plan_note().empty()) fmt::print(stderr, "thresher: {}\n", engine.plan_note());
  bench_layers(engine, {.layers = options.layers,
                        .token_counts = token_counts_of(options.token_counts.empty()
                                                            ? std::vector<std::string>{kTokenCounts}
                                                            : options.token_counts),
                        .activations = options.activations,
                        .expert_limit = options.expert_limit,
                        .routing = options.routing.empty() ? "uniform" : options.routing,
                        .batch_invariant = options.batch_invariant,
                        .surroundings = surroundings_of(options),
                        .graph = graph_of(options, engine),
                        .seconds = options.seconds,
                        .seed = options.seed,
                        .json = options.json});
  return kExitOk;
}

int run_bench(const BenchOptions& options) {
  if (options.suites.empty() == options.layers.empty()) {
    throw UsageError("say what to time: --suite, or --layer");
  }
  const Presence presence("bench");
  if (!options.layers.empty()) return run_layers(options);
  check_suite_options(options);
  const std::vector<BenchRow> rows = Bench(options).run();
  if (rows.empty()) throw Error("nothing was measured: no variant asked for runs these problems");
  if (!options.json) print_tables(rows);
  std::fflush(stdout);
  for (const std::string& doubt : doubts(rows)) fmt::print(stderr, "thresher: {}\n", doubt);
  const std::set<std::string> broken = broken_contracts(rows);
  for (const std::string& contract : broken) fmt::print(stderr, "thresher: {}\n", contract);
  return broken.empty() ? kExitOk : kExitFailure;
}

}  // namespace

Command bench_command() {
  const auto options = std::make_shared<BenchOptions>();
  return {.name = "bench",
          .what = "Time a suite or layers: rates, share of the speed of light, peers",
          .options = {backend_option(options->backend),
                      device_option(options->device),
                      {.name = "--suite",
                       .value = &options->suites,
                       .what = "Suite names or .toml files"},
                      {.name = "--layer",
                       .value = &options->layers,
                       .what = "Instead of a suite: layers of models, all, or "
                               "HIDDENxINTERMEDIATExEXPERTSxTOP_K (docs/moe.md)"},
                      {.name = "--tokens",
                       .value = &options->token_counts,
                       .what = "With --layer: tokens of a call, as in 1,16,64",
                       .default_text = kTokenCounts},
                      {.name = "--experts",
                       .value = &options->expert_limit,
                       .what = "With --layer: at most so many experts",
                       .range = {{1, 65536}},
                       .default_text = "all; on the CPU what fits into 768 MB"},
                      {.name = "--routing",
                       .value = &options->routing,
                       .what = "With --layer: how tokens choose experts",
                       .words = {"uniform", "skewed"},
                       .default_text = "uniform"},
                      {"--batch-invariant", &options->batch_invariant,
                       "With --layer: a token's bits depend on no other"},
                      {"--problem", &options->problems, "Only these problems"},
                      {.name = "--variant",
                       .value = &options->variants,
                       .what = "Variants to time",
                       .default_text = kEnginesChoice},
                      {"--plan", &options->plan,
                       "A file of 'thresher tune': the engine's choice is taken from it"},
                      {.name = "--threads",
                       .value = &options->thread_counts,
                       .what = "Thread counts, on the CPU",
                       .range = {{1, 1024}},
                       .default_text = "all cores"},
                      {.name = "--op",
                       .value = &options->op,
                       .what = "Operation, instead of the suite's",
                       .words = {"gemm", "dual"}},
                      {.name = "--activations",
                       .value = &options->activations,
                       .what = "Type, instead of the suite's",
                       .words = {"nvfp4", "fp16", "bf16"}},
                      {.name = "--output",
                       .value = &options->output,
                       .what = "Type, instead of the suite's",
                       .words = {"fp16", "bf16", "fp32"}},
                      {.name = "--timing",
                       .value = &options->timing,
                       .what = "What surrounds a timed call (docs/measuring.md)",
                       .words = {"foreign", "back_to_back", "alone"},
                       .default_text = "foreign; of layers back_to_back"},
                      {.name = "--launch",
                       .value = &options->launch,
                       .what = "On a GPU: replays of a CUDA graph, or launches",
                       .words = {"graph", "eager"},
                       .default_text = "graph"},
                      {.name = "--sizes",
                       .value = &options->sizes,
                       .what = "Who knows the group sizes: the host, or only the device's memory",
                       .words = {"host", "device"},
                       .default_text = "host"},
                      {.name = "--seconds",
                       .value = &options->seconds,
                       .what = "Time per problem and thread count",
                       .range = {{0.01, 3600}}},
                      {"--seed", &options->seed, "Where inputs and order come from"},
                      {"--peers", &options->peers,
                       "Time OpenBLAS and torch, on a GPU cuBLAS, torch and Humming, side by side "
                       "(docs/measuring.md)"},
                      {"--json", &options->json, "Print one JSON object per line"}},
          .run = [options] { return run_bench(*options); }};
}

}  // namespace thresher::cli
