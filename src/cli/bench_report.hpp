// SPDX-License-Identifier: Apache-2.0
// What bench measured, one line of JSON per row or a table for people.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "backend/device.hpp"
#include "gemm/speed_of_light.hpp"
#include "measure/series.hpp"
#include "thresher/problem.hpp"

namespace thresher::cli {

// What a table of rows was measured on: so many threads of the CPU, or a GPU.
struct BenchLane {
  std::string_view backend;
  int thread_count = 0;
  backend::Ceilings ceilings;
};

// One variant on one problem in one lane, and the peers of the same match.
struct BenchRow {
  std::string suite;
  Problem problem;
  std::string entrant;  // what the user asked for: a variant, or the engine's choice
  std::string variant;  // what ran
  std::size_t weight_copies = 1;
  BenchLane lane;
  std::string timed;  // how: "among foreign kernels, sustained load"
  SpeedOfLight light;
  measure::Timing timing;
  std::vector<measure::Timing> peers;
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
