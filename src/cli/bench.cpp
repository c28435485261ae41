// SPDX-License-Identifier: Apache-2.0
// thresher bench: variants and peers on the problems of a suite, side by side.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <memory>
#include <set>

#include "bench/openblas.hpp"
#include "cli/bench_entries.hpp"
#include "cli/bench_report.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/machine.hpp"
#include "cli/progress.hpp"
#include "cli/selection.hpp"
#include "cpu/features.hpp"

namespace thresher::cli {
namespace {

struct BenchOptions {
  std::vector<std::string> suites;
  std::vector<std::string> problems;
  std::vector<std::string> variants;
  std::vector<int> thread_counts;
  std::string op;
  std::string activations;
  std::string output;
  double seconds = 3;
  std::uint64_t seed = 1;
  bool peers = false;
  bool json = false;
};

// Measuring the machine should not take longer than measuring a problem.
double calibration_seconds(const BenchOptions& options) {
  return std::clamp(options.seconds, 0.1, 1.5);
}

constexpr PeerEntry::Make kPeers[] = {bench::make_openblas_sgemm, bench::make_openblas_dequant};

Problem with_overrides(Problem problem, const BenchOptions& options) {
  if (!options.op.empty()) problem.op = op_from_string(options.op);
  if (!options.activations.empty()) {
    problem.activations = activations_from_string(options.activations);
  }
  if (!options.output.empty()) problem.output = output_from_string(options.output);
  return problem;
}

// A thread count with the engine that has it and the ceilings it reached.
struct Lane {
  Engine engine;
  cpu::Ceilings ceilings;
};

// Who meets on one problem in one lane. Deques, because contestants point at their entries.
struct Field {
  std::deque<VariantEntry> variants;
  std::vector<std::string> entrants;  // what the user called each of the variants
  std::deque<PeerEntry> peers;

  std::vector<Contestant> contestants() {
    std::vector<Contestant> all;
    for (VariantEntry& variant : variants) all.push_back(variant.contestant());
    for (PeerEntry& peer : peers) all.push_back(peer.contestant());
    return all;
  }
};

class Bench {
 public:
  explicit Bench(const BenchOptions& options)
      : options_(options),
        problems_(select_problems(options.suites, options.problems)),
        thread_counts_(distinct(options.thread_counts)),
        progress_(static_cast<std::int64_t>(thread_counts_.size() * (problems_.size() + 1)), {}) {
    check_variant_names(options.variants);
    if (options.peers && bench::Openblas::find() == nullptr) {
      throw Error(bench::Openblas::how_to_install() + ", or leave --peers out");
    }
  }

  std::vector<BenchRow> run() {
    for (const int count : thread_counts_) {
      progress_.begin_step(fmt::format("measuring the machine with {} threads", count));
      lanes_.push_back({Engine({.thread_count = count}),
                        cpu::measure_ceilings(best_isa(), count, calibration_seconds(options_))});
    }
    for (const SelectedProblem& selected : problems_) {
      run_problem(selected.suite, with_overrides(selected.problem, options_));
    }
    progress_.clear();
    return std::move(rows_);
  }

 private:
  void run_problem(const std::string& suite, const Problem& problem) {
    const Inputs inputs = make_inputs(problem, InputFamily::kNatural, options_.seed);
    ColdWeights weights(lanes_.front().engine, problem, inputs);
    for (const Lane& lane : lanes_) {
      progress_.begin_step(
          fmt::format("{} {} with {} threads", suite, problem.name, lane.engine.thread_count()));
      Field field;
      enter_variants(field, problem, weights, lane.engine);
      if (field.variants.empty()) continue;
      enter_peers(field, problem, inputs, lane.engine.thread_count());
      const std::vector<Timing> timings = play_match(
          field.contestants(), inputs, {.seconds = options_.seconds, .seed = options_.seed});

      const auto first_peer = timings.begin() + static_cast<std::ptrdiff_t>(field.variants.size());
      for (std::size_t i = 0; i < field.variants.size(); ++i) {
        add_row({.suite = suite,
                 .problem = problem,
                 .entrant = field.entrants[i],
                 .variant = field.variants[i].variant(),
                 .weight_copies = weights.copy_count(),
                 .ceilings = lane.ceilings,
                 .light = speed_of_light(problem, machine_rates(lane.ceilings)),
                 .timing = timings[i],
                 .peers = {first_peer, timings.end()}});
      }
    }
  }

  void enter_variants(Field& field, const Problem& problem, ColdWeights& weights,
                      const Engine& engine) {
    if (options_.variants.empty()) {
      field.variants.emplace_back(engine, problem, "", weights);
      field.entrants.push_back("the engine's choice");
    }
    for (const std::string& variant : distinct(options_.variants)) {
      const Support support = engine.supports(problem, variant);
      if (support.ok) {
        field.variants.emplace_back(engine, problem, variant, weights);
        field.entrants.push_back(variant);
      } else {
        progress_.clear();
        fmt::print(stderr, "thresher: {}: {} left out: {}\n", problem.name, variant,
                   support.why_not);
      }
    }
  }

  void enter_peers(Field& field, const Problem& problem, const Inputs& inputs, int thread_count) {
    if (!options_.peers) return;
    for (const PeerEntry::Make make : kPeers) {
      field.peers.emplace_back(make, problem, inputs, thread_count);
    }
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
  const std::vector<int> thread_counts_;
  Progress progress_;
  std::deque<Lane> lanes_;  // contestants point at the engines
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

// A time below the floor means that the floor was measured while the machine was busier.
std::set<std::string> doubts(const std::vector<BenchRow>& rows) {
  std::set<std::string> doubtful;
  for (const BenchRow& row : rows) {
    if (row.share_of_light() <= 1) continue;
    doubtful.insert(
        fmt::format("{}: {} with {} threads is under its speed of light; the machine was slower "
                    "when its ceilings were measured, repeat on a quiet one",
                    row.problem.name, row.variant, row.ceilings.thread_count));
  }
  return doubtful;
}

int run_bench(BenchOptions options) {
  if (options.thread_counts.empty()) options.thread_counts = {cpu::usable_core_count()};
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

Command add_bench(CLI::App& app) {
  const auto options = std::make_shared<BenchOptions>();
  CLI::App* command =
      app.add_subcommand("bench", "Time a suite: rates, share of the speed of light, peers");
  command->add_option("--suite", options->suites, "Suite names or .toml files")->required();
  command->add_option("--problem", options->problems, "Only these problems");
  command->add_option("--variant", options->variants, "Variants to time")
      ->default_str("the engine's choice");
  command->add_option("--threads", options->thread_counts, "Thread counts")
      ->check(CLI::Range(1, 1024))
      ->default_str("all cores");
  command->add_option("--op", options->op, "Operation, instead of the suite's")
      ->check(CLI::IsMember({"gemm", "dual"}));
  command->add_option("--activations", options->activations, "Type, instead of the suite's")
      ->check(CLI::IsMember({"nvfp4", "fp16", "bf16"}));
  command->add_option("--output", options->output, "Type, instead of the suite's")
      ->check(CLI::IsMember({"fp16", "bf16", "fp32"}));
  command->add_option("--seconds", options->seconds, "Time per problem and thread count")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Where inputs and order come from")
      ->capture_default_str();
  command->add_flag("--peers", options->peers, "Time OpenBLAS side by side (docs/measuring.md)");
  command->add_flag("--json", options->json, "Print one JSON object per line");
  return {command, [options] { return run_bench(*options); }};
}

}  // namespace thresher::cli
