// SPDX-License-Identifier: Apache-2.0
// What bench was asked for, and who measures it on which backend.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/bench_report.hpp"
#include "cli/selection.hpp"

namespace thresher::cli {

struct BenchOptions {
  std::string backend;
  std::vector<std::string> suites;
  std::vector<std::string> problems;
  std::vector<std::string> variants;
  std::vector<int> thread_counts;
  std::string op;
  std::string activations;
  std::string output;
  std::string launch = "graph";  // GPU only: how samples launch their calls
  std::string sizes = "host";    // GPU only: where group sizes are
  double seconds = 3;
  std::uint64_t seed = 1;
  bool peers = false;
  bool json = false;
};

// The suites' problems with what the options say instead.
std::vector<SelectedProblem> bench_problems(const BenchOptions& options);

// Measuring the machine should not take longer than measuring a problem.
double calibration_seconds(const BenchOptions& options);

inline constexpr const char* kEnginesChoice = "the engine's choice";

// A variant that cannot run a problem is left out, and stderr says why.
void tell_left_out(const Problem& problem, const std::string& variant, const std::string& why);

// Print JSON lines as they come, if asked to.
std::vector<BenchRow> bench_cpu(const BenchOptions& options);
std::vector<BenchRow> bench_gpu(const BenchOptions& options);

}  // namespace thresher::cli
