// SPDX-License-Identifier: Apache-2.0
// A model of a noisy machine, so that the referee's error rates can be counted where the truth is
// known. It contains the traps that fool simple benchmarks: slow drift, the order of calls, and
// luck that lasts as long as a process. All effects are in units of ln(time), so 0.01 is about 1 %.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "gemm/random.hpp"
#include "referee/statistics/disturbance.hpp"
#include "referee/statistics/verdict.hpp"

namespace thresher::referee {

// Somebody else on the machine, who comes and goes. While there, all calls lose the same share, and
// each some of its own.
struct Guest {
  double time_share = 0;   // how much of the time, in calls
  double stay_calls = 50;  // how long, in the mean
  double loss_min = 0;     // what all calls lose while it stays, drawn when it comes
  double loss_max = 0;
  double noise_sd = 0;  // what each of them loses or gains besides
  // No two kernels suffer from it alike: each loses between 1 - unequal and 1 + unequal times as
  // much. By code, once in a match, and the champion's copy as the champion; by process, anew in
  // every heat.
  double unequal_by_code = 0;
  double unequal_by_process = 0;
};

struct SimulatedWorld {
  double noise_sd = 0.01;         // of every call, normal
  double outlier_share = 0.02;    // of the calls, interrupted by something
  double outlier_median = 0.025;  // what these lose; lognormal, so some lose much more
  double drift_sd = 0;            // step of a random walk, one step per call
  double second_slot_effect = 0;  // loss of every second call
  double process_offset_sd = 0;   // memory layout: drawn once per process and problem
  Guest guest;
};

// The machine's clock: one call after the other.
class SimulatedMachine {
 public:
  SimulatedMachine(const SimulatedWorld& world, std::uint64_t seed)
      : world_(world), random_(seed) {}

  // The luck of one process with one problem.
  double draw_process_offset() { return world_.process_offset_sd * normal(); }
  double draw_normal(double sd) { return sd > 0 ? sd * normal() : 0; }

  // How hard a guest hits one kernel or process, of those it hits as unequally as this.
  double draw_share(double unequal) { return unequal > 0 ? 1 + unequal * (2 * uniform() - 1) : 1; }

  bool toss() { return random_.below(2) == 0; }
  template <typename Items>
  void shuffle(Items& items) {
    thresher::shuffle(items, random_);
  }

  // Warm-up before a heat brings the clock back to its steady state: the walk starts anew.
  void settle() { drift_ = 0; }

  // How long the referee's own reference work takes now, arms stopped.
  double reference_ns();

  // What the stopwatch reads for a call that would take exp(log_ns) on a perfect machine, by a
  // process that loses this share of what a guest takes.
  double call_ns(double log_ns, double guest_share = 1);

 private:
  double uniform();  // both ends excluded
  double normal();
  void let_guest_come_or_go();

  const SimulatedWorld world_;
  Random random_;
  double drift_ = 0;
  bool second_slot_ = false;
  bool guest_is_here_ = false;
  double guest_loss_ = 0;
};

// ABBA or BAAB by a toss; `a_log_ns` and `b_log_ns` already hold the luck of their processes.
Block play_block(SimulatedMachine& machine, int problem_index, double a_log_ns, double b_log_ns);

struct SimulatedTruth {
  std::vector<double> speedups = {1};  // of the challenger, one per problem
  double challenger_heat_sd = 0;       // an unsteady one: luck of its processes alone
  double slowed_speedup = 0.9;         // of the control with the injected delay
  int blocks_per_problem = 4;
  bool marks_disturbed = true;
};

// A match as the referee would play it, heat by heat: fresh processes for the champion, the
// challenger and the champion's copy in every heat.
class SimulatedMatch {
 public:
  SimulatedMatch(const SimulatedWorld& world, const SimulatedTruth& truth, std::uint64_t seed);

  void play_heat();
  const MatchSamples& samples() const { return samples_; }

 private:
  // Champion, challenger, copy; of a heat with one problem, the luck of their processes.
  using Arms = std::array<double, 3>;
  Arms draw_guest_shares();
  using Order = std::array<std::size_t, 3>;  // of the arms
  Order draw_order(std::size_t problem);
  bool copy_is_slowed(std::size_t sweep) const;
  // One block of every problem, in two rows, as timing/heats.hpp plays them.
  void play_sweep(const std::vector<Arms>& arms, const Arms& guest_shares, bool copy_is_slowed,
                  HeatSamples& heat);
  void mark_disturbed(HeatSamples& heat);

  const SimulatedTruth truth_;
  const Guest guest_;
  Arms guest_shares_by_code_ = {1, 1, 1};
  std::vector<RowWeather> rows_;  // of the heat being played
  std::vector<Order> middles_;    // by problem: who is in the middle in three sweeps
  SimulatedMachine machine_;
  MatchSamples samples_;
};

}  // namespace thresher::referee
