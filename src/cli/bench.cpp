// SPDX-License-Identifier: Apache-2.0
// thresher bench: variants and peers on the problems of a suite, side by side.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <set>

#include "cli/backend_option.hpp"
#include "cli/bench_options.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"

namespace thresher::cli {
namespace {

Problem with_overrides(Problem problem, const BenchOptions& options) {
  if (!options.op.empty()) problem.op = op_from_string(options.op);
  if (!options.activations.empty()) {
    problem.activations = activations_from_string(options.activations);
  }
  if (!options.output.empty()) problem.output = output_from_string(options.output);
  return problem;
}

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
        fmt::format("{}: {} on {} is under its speed of light; the machine was slower when its "
                    "ceilings were measured, repeat on a quiet one",
                    row.problem.name, row.variant, row.lane.title));
  }
  return doubtful;
}

int run_bench(const BenchOptions& options) {
  const bool on_gpu = resolve_backend(options.backend, options.variants) == Backend::kGpu;
  const std::vector<BenchRow> rows = on_gpu ? bench_gpu(options) : bench_cpu(options);
  if (rows.empty()) throw Error("nothing was measured: no variant asked for runs these problems");
  if (!options.json) print_tables(rows);
  std::fflush(stdout);
  for (const std::string& doubt : doubts(rows)) fmt::print(stderr, "thresher: {}\n", doubt);
  const std::set<std::string> broken = broken_contracts(rows);
  for (const std::string& contract : broken) fmt::print(stderr, "thresher: {}\n", contract);
  return broken.empty() ? kExitOk : kExitFailure;
}

}  // namespace

std::vector<SelectedProblem> bench_problems(const BenchOptions& options) {
  std::vector<SelectedProblem> problems = select_problems(options.suites, options.problems);
  for (SelectedProblem& selected : problems) {
    selected.problem = with_overrides(std::move(selected.problem), options);
  }
  return problems;
}

double calibration_seconds(const BenchOptions& options) {
  return std::clamp(options.seconds, 0.1, 1.5);
}

void tell_left_out(const Problem& problem, const std::string& variant, const std::string& why) {
  fmt::print(stderr, "thresher: {}: {} left out: {}\n", problem.name, variant, why);
}

Command add_bench(CLI::App& app) {
  const auto options = std::make_shared<BenchOptions>();
  CLI::App* command =
      app.add_subcommand("bench", "Time a suite: rates, share of the speed of light, peers");
  add_backend_option(*command, options->backend);
  command->add_option("--suite", options->suites, "Suite names or .toml files")->required();
  command->add_option("--problem", options->problems, "Only these problems");
  command->add_option("--variant", options->variants, "Variants to time")
      ->default_str(kEnginesChoice);
  command->add_option("--threads", options->thread_counts, "Thread counts, on the CPU")
      ->check(CLI::Range(1, 1024))
      ->default_str("all cores");
  command->add_option("--op", options->op, "Operation, instead of the suite's")
      ->check(CLI::IsMember({"gemm", "dual"}));
  command->add_option("--activations", options->activations, "Type, instead of the suite's")
      ->check(CLI::IsMember({"nvfp4", "fp16", "bf16"}));
  command->add_option("--output", options->output, "Type, instead of the suite's")
      ->check(CLI::IsMember({"fp16", "bf16", "fp32"}));
  command->add_option("--launch", options->launch, "On a GPU: replays of a CUDA graph, or launches")
      ->check(CLI::IsMember({"graph", "eager"}))
      ->capture_default_str();
  command->add_option("--sizes", options->sizes, "On a GPU: who knows the group sizes")
      ->check(CLI::IsMember({"host", "device"}))
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "Time per problem and thread count")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Where inputs and order come from")
      ->capture_default_str();
  command->add_flag("--peers", options->peers,
                    "Time OpenBLAS, on a GPU cuBLAS, side by side (docs/measuring.md)");
  command->add_flag("--json", options->json, "Print one JSON object per line");
  return {command, [options] { return run_bench(*options); }};
}

}  // namespace thresher::cli
