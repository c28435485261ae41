// SPDX-License-Identifier: Apache-2.0
// A model of a noisy machine, so that the referee's error rates can be counted where the truth is
// known. It contains the traps that fool simple benchmarks: slow drift, the order of calls, and
// luck that lasts as long as a process. All effects are in units of ln(time), so 0.01 is about 1 %.
#pragma once

#include <cstdint>
#include <vector>

#include "gemm/random.hpp"
#include "referee/statistics/verdict.hpp"

namespace thresher::referee {

struct SimulatedWorld {
  double noise_sd = 0.01;         // of every call, normal
  double outlier_share = 0.02;    // of the calls, interrupted by something
  double outlier_median = 0.025;  // what these lose; lognormal, so some lose much more
  double drift_sd = 0;            // step of a random walk, one step per call
  double second_slot_effect = 0;  // loss of every second call
  double process_offset_sd = 0;   // memory layout: drawn once per process and problem
};

// The machine's clock: one call after the other.
class SimulatedMachine {
 public:
  SimulatedMachine(const SimulatedWorld& world, std::uint64_t seed)
      : world_(world), random_(seed) {}

  // The luck of one process with one problem.
  double draw_process_offset() { return world_.process_offset_sd * normal(); }

  bool toss() { return random_.below(2) == 0; }

  // Warm-up before a heat brings the clock back to its steady state: the walk starts anew.
  void settle() { drift_ = 0; }

  // What the stopwatch reads for a call that would take exp(log_ns) on a perfect machine.
  double call_ns(double log_ns);

 private:
  double uniform();  // both ends excluded
  double normal();

  const SimulatedWorld world_;
  Random random_;
  double drift_ = 0;
  bool second_slot_ = false;
};

// ABBA or BAAB by a toss; `a_log_ns` and `b_log_ns` already hold the luck of their processes.
Block play_block(SimulatedMachine& machine, int problem_index, double a_log_ns, double b_log_ns);

struct SimulatedTruth {
  std::vector<double> speedups = {1};  // of the challenger, one per problem
  double slowed_speedup = 0.9;         // of the control with the injected delay
  int blocks_per_problem = 3;
};

// A match as the referee would play it, heat by heat: fresh processes for the champion, the
// challenger, the champion's copy and the slowed champion in every heat.
class SimulatedMatch {
 public:
  SimulatedMatch(const SimulatedWorld& world, const SimulatedTruth& truth, std::uint64_t seed);

  void play_heat();
  const MatchSamples& samples() const { return samples_; }

 private:
  const SimulatedTruth truth_;
  SimulatedMachine machine_;
  MatchSamples samples_;
};

}  // namespace thresher::referee
