// SPDX-License-Identifier: Apache-2.0
// What bench measured, one line of JSON per row or a table for people.
#pragma once

#include <string>
#include <vector>

#include "cli/bench_match.hpp"
#include "cpu/calibrate.hpp"
#include "gemm/speed_of_light.hpp"
#include "thresher/problem.hpp"

namespace thresher::cli {

// One variant on one problem with one thread count, and the peers of the same match.
struct BenchRow {
  std::string suite;
  Problem problem;
  std::string entrant;  // what the user asked for: a variant, or the engine's choice
  std::string variant;  // what ran
  std::size_t weight_copies = 1;
  cpu::Ceilings ceilings;
  SpeedOfLight light;
  Timing timing;
  std::vector<Timing> peers;

  double gflops() const;
  double weight_gb_per_s() const;
  double share_of_light() const;
};

void print_json_line(const BenchRow& row);

// A table and a summary per thread count.
void print_tables(const std::vector<BenchRow>& rows);

}  // namespace thresher::cli
