// SPDX-License-Identifier: Apache-2.0
// thresher bench: variants and peers on the problems of a suite, side by side.
#include <fmt/format.h>

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

Command bench_command() {
  const auto options = std::make_shared<BenchOptions>();
  return {.name = "bench",
          .what = "Time a suite: rates, share of the speed of light, peers",
          .options = {backend_option(options->backend),
                      {.name = "--suite",
                       .value = &options->suites,
                       .what = "Suite names or .toml files",
                       .required = true},
                      {"--problem", &options->problems, "Only these problems"},
                      {.name = "--variant",
                       .value = &options->variants,
                       .what = "Variants to time",
                       .default_text = kEnginesChoice},
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
                      {.name = "--launch",
                       .value = &options->launch,
                       .what = "On a GPU: replays of a CUDA graph, or launches",
                       .words = {"graph", "eager"}},
                      {.name = "--sizes",
                       .value = &options->sizes,
                       .what = "On a GPU: who knows the group sizes",
                       .words = {"host", "device"}},
                      {.name = "--seconds",
                       .value = &options->seconds,
                       .what = "Time per problem and thread count",
                       .range = {{0.01, 3600}}},
                      {"--seed", &options->seed, "Where inputs and order come from"},
                      {"--peers", &options->peers,
                       "Time OpenBLAS, on a GPU cuBLAS, side by side (docs/measuring.md)"},
                      {"--json", &options->json, "Print one JSON object per line"}},
          .run = [options] { return run_bench(*options); }};
}

}  // namespace thresher::cli
