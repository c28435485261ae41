// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/simulated_world.hpp"

#include <fmt/format.h>

#include <cmath>

#include "referee/statistics/distributions.hpp"

namespace thresher::referee {
namespace {

constexpr double kTypicalNs = 100e3;   // ratios do not depend on it
constexpr double kOutlierLogSd = 0.8;  // one interruption in ten is 2.8 times the median or longer

}  // namespace

double SimulatedMachine::call_ns(double log_ns) {
  drift_ += world_.drift_sd * normal();
  double loss = drift_ + world_.noise_sd * normal();
  if (second_slot_) loss += world_.second_slot_effect;
  second_slot_ = !second_slot_;
  if (uniform() < world_.outlier_share) {
    loss += world_.outlier_median * std::exp(kOutlierLogSd * normal());
  }
  return std::exp(log_ns + loss);
}

double SimulatedMachine::uniform() {
  return (static_cast<double>(random_.next() >> 11) + 0.5) * 0x1p-53;
}

double SimulatedMachine::normal() { return normal_quantile(uniform()); }

Block play_block(SimulatedMachine& machine, int problem_index, double a_log_ns, double b_log_ns) {
  Block block{.problem_index = problem_index, .first_arm_a = machine.toss()};
  const auto call_a = [&](int i) { block.a_ns[i] = machine.call_ns(a_log_ns); };
  const auto call_b = [&](int i) { block.b_ns[i] = machine.call_ns(b_log_ns); };
  if (block.first_arm_a) {
    call_a(0), call_b(0), call_b(1), call_a(1);
  } else {
    call_b(0), call_a(0), call_a(1), call_b(1);
  }
  return block;
}

SimulatedMatch::SimulatedMatch(const SimulatedWorld& world, const SimulatedTruth& truth,
                               std::uint64_t seed)
    : truth_(truth), machine_(world, seed) {
  samples_.slowed_truth = truth.slowed_speedup;
  for (std::size_t i = 0; i < truth.speedups.size(); ++i) {
    samples_.problems.push_back(fmt::format("problem_{}", i));
  }
}

void SimulatedMatch::play_heat() {
  HeatSamples heat;
  machine_.settle();
  for (int problem = 0; problem < static_cast<int>(truth_.speedups.size()); ++problem) {
    const auto process = [&](double speedup) {
      return std::log(kTypicalNs / speedup) + machine_.draw_process_offset();
    };
    const double champion = process(1);
    const double challenger = process(truth_.speedups[static_cast<std::size_t>(problem)]);
    const double copy = process(1);
    const double slowed = process(truth_.slowed_speedup);
    for (int i = 0; i < truth_.blocks_per_problem; ++i) {
      heat.match.push_back(play_block(machine_, problem, champion, challenger));
      heat.same.push_back(play_block(machine_, problem, champion, copy));
      heat.slowed.push_back(play_block(machine_, problem, champion, slowed));
    }
  }
  samples_.heats.push_back(std::move(heat));
}

}  // namespace thresher::referee
