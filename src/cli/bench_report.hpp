// SPDX-License-Identifier: Apache-2.0
// What bench measured, one line of JSON per row or a table for people.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/bench_match.hpp"
#include "gemm/backend.hpp"
#include "gemm/speed_of_light.hpp"
#include "thresher/problem.hpp"

namespace thresher::cli {

// What a table of rows was measured on: so many threads of the CPU, or a GPU.
struct BenchLane {
  Backend backend = Backend::kCpu;
  std::string title;  // "2 threads", "NVIDIA H200 (sm_90a), 132 SMs"
  int thread_count = 0;
  MachineRates rates;
  std::string ceilings_text;  // the rates in words
  // The same for machines, under their names.
  std::vector<std::pair<std::string, double>> ceilings;
};

// One variant on one problem in one lane, and the peers of the same match.
struct BenchRow {
  std::string suite;
  Problem problem;
  std::string entrant;  // what the user asked for: a variant, or the engine's choice
  std::string variant;  // what ran
  std::size_t weight_copies = 1;
  BenchLane lane;
  SpeedOfLight light;
  Timing timing;
  std::vector<Timing> peers;
  // GPU only: what the host spends on queueing a call, and the clocks after the last sample.
  double host_us = 0;
  int sm_mhz = 0;

  double gflops() const;
  double weight_gb_per_s() const;
  double share_of_light() const;
};

void print_json_line(const BenchRow& row);

// A table and a summary per lane.
void print_tables(const std::vector<BenchRow>& rows);

}  // namespace thresher::cli
