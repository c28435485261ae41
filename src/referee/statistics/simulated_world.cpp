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
  if (world_.guest.time_share > 0) {
    let_guest_come_or_go();
    if (guest_is_here_) loss += guest_loss_ + world_.guest.noise_sd * normal();
  }
  if (second_slot_) loss += world_.second_slot_effect;
  second_slot_ = !second_slot_;
  if (uniform() < world_.outlier_share) {
    loss += world_.outlier_median * std::exp(kOutlierLogSd * normal());
  }
  return std::exp(log_ns + loss);
}

// A chain of two states: it stays `stay_calls` in the mean, and stays away so long that the share
// of time is right.
void SimulatedMachine::let_guest_come_or_go() {
  const Guest& guest = world_.guest;
  const double away_calls = guest.stay_calls * (1 - guest.time_share) / guest.time_share;
  if (guest_is_here_) {
    guest_is_here_ = guest.time_share >= 1 || uniform() > 1 / guest.stay_calls;
  } else if (away_calls <= 0 || uniform() < 1 / away_calls) {
    guest_is_here_ = true;
    guest_loss_ = guest.loss_min + (guest.loss_max - guest.loss_min) * uniform();
  }
}

// As long as some calls, so that what each of them loses by itself averages out.
double SimulatedMachine::reference_ns() {
  constexpr int kCalls = 8;
  double sum = 0;
  for (int i = 0; i < kCalls; ++i) {
    sum += std::exp((guest_is_here_ ? guest_loss_ + world_.guest.noise_sd * normal() : 0) +
                    world_.noise_sd * normal());
  }
  return sum * kTypicalNs;
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
  machine_.settle();
  rows_.clear();
  const auto process = [&](double speedup) {
    return std::log(kTypicalNs / speedup) + machine_.draw_process_offset();
  };
  std::vector<Arms> arms;
  for (const double speedup : truth_.speedups) {
    const double champion = process(1);
    arms.push_back({champion, process(speedup), process(1), process(truth_.slowed_speedup)});
  }
  HeatSamples heat;
  const auto add = [](std::vector<Block> sweep, std::vector<Block>& to) {
    to.insert(to.end(), sweep.begin(), sweep.end());
  };
  for (int i = 0; i < truth_.blocks_per_problem; ++i) {
    add(play_sweep(arms, &Arms::challenger), heat.match);
    if (i >= truth_.control_blocks) continue;
    add(play_sweep(arms, &Arms::copy), heat.same);
    add(play_sweep(arms, &Arms::slowed), heat.slowed);
  }
  if (truth_.marks_disturbed) mark_disturbed(heat);
  samples_.heats.push_back(std::move(heat));
}

std::vector<Block> SimulatedMatch::play_sweep(const std::vector<Arms>& arms,
                                              double Arms::*opponent) {
  std::vector<Block> blocks(arms.size());
  for (std::size_t i = 0; i < arms.size(); ++i) {
    blocks[i].problem_index = static_cast<int>(i);
    blocks[i].first_arm_a = machine_.toss();
  }
  for (const int half : {0, 1}) {
    rows_.push_back({.reference_ns = machine_.reference_ns()});
    for (std::size_t i = 0; i < arms.size(); ++i) {
      const bool a_first = blocks[i].first_arm_a == (half == 0);
      for (const bool is_a : {a_first, !a_first}) {
        (is_a ? blocks[i].a_ns[half] : blocks[i].b_ns[half]) =
            machine_.call_ns(is_a ? arms[i].champion : arms[i].*opponent);
      }
    }
  }
  return blocks;
}

// Sweeps were played in the order match, same, slowed for as long as there are controls.
void SimulatedMatch::mark_disturbed(HeatSamples& heat) {
  const std::vector<bool> disturbed = find_disturbed(rows_);
  const std::size_t problem_count = truth_.speedups.size();
  std::size_t sweep = 0;
  const auto mark = [&](std::vector<Block>& blocks, int index) {
    const bool hit = disturbed[2 * sweep] || disturbed[2 * sweep + 1];
    ++sweep;
    for (std::size_t i = 0; i < problem_count; ++i) {
      blocks[static_cast<std::size_t>(index) * problem_count + i].disturbed = hit;
    }
  };
  for (int i = 0; i < truth_.blocks_per_problem; ++i) {
    mark(heat.match, i);
    if (i >= truth_.control_blocks) continue;
    mark(heat.same, i);
    mark(heat.slowed, i);
  }
}

}  // namespace thresher::referee
