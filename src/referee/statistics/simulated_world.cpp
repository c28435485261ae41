// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/simulated_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "referee/statistics/distributions.hpp"

namespace thresher::referee {
namespace {

constexpr double kTypicalNs = 100e3;   // ratios do not depend on it
constexpr double kOutlierLogSd = 0.8;  // one interruption in ten is 2.8 times the median or longer

}  // namespace

double SimulatedMachine::call_ns(double log_ns, double guest_share) {
  drift_ += world_.drift_sd * normal();
  double loss = drift_ + world_.noise_sd * normal();
  if (world_.guest.time_share > 0) {
    let_guest_come_or_go();
    if (guest_is_here_) loss += guest_share * guest_loss_ + world_.guest.noise_sd * normal();
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
    : truth_(truth), guest_(world.guest), machine_(world, seed) {
  const double champion = machine_.draw_share(guest_.unequal_by_code);
  guest_shares_by_code_ = {champion, machine_.draw_share(guest_.unequal_by_code), champion};
  samples_.slowed_truth = truth.slowed_speedup;
  for (std::size_t i = 0; i < truth.speedups.size(); ++i) {
    samples_.problems.push_back(fmt::format("problem_{}", i));
  }
}

void SimulatedMatch::play_heat() {
  machine_.settle();
  rows_.clear();
  middles_.assign(truth_.speedups.size(), {0, 1, 2});
  const auto process = [&](double speedup) {
    return std::log(kTypicalNs / speedup) + machine_.draw_process_offset();
  };
  std::vector<Arms> arms;
  for (const double speedup : truth_.speedups) {
    arms.push_back({process(1), process(speedup), process(1)});
    arms.back()[1] += machine_.draw_normal(truth_.challenger_heat_sd);
  }
  const Arms guest_shares = draw_guest_shares();
  HeatSamples heat;
  for (int i = 0; i < truth_.blocks_per_problem; ++i) {
    play_sweep(arms, guest_shares, copy_is_slowed(static_cast<std::size_t>(i)), heat);
  }
  if (truth_.marks_disturbed) mark_disturbed(heat);
  samples_.heats.push_back(std::move(heat));
}

SimulatedMatch::Arms SimulatedMatch::draw_guest_shares() {
  Arms shares = guest_shares_by_code_;
  for (double& share : shares) share *= machine_.draw_share(guest_.unequal_by_process);
  return shares;
}

// The controls take turns, and which of them begins does too.
bool SimulatedMatch::copy_is_slowed(std::size_t sweep) const {
  return (samples_.heats.size() + sweep) % 2 == 1;
}

// Each arm is once in the middle in three sweeps; who begins is tossed.
SimulatedMatch::Order SimulatedMatch::draw_order(std::size_t problem) {
  const std::size_t turn = rows_.size() / 2 % middles_[problem].size();
  if (turn == 0) machine_.shuffle(middles_[problem]);
  const std::size_t middle = middles_[problem][turn];
  Order order{(middle + 1) % 3, middle, (middle + 2) % 3};
  if (machine_.toss()) std::swap(order.front(), order.back());
  return order;
}

void SimulatedMatch::play_sweep(const std::vector<Arms>& arms, const Arms& guest_shares,
                                bool copy_is_slowed, HeatSamples& heat) {
  const double delay = copy_is_slowed ? -std::log(truth_.slowed_speedup) : 0;
  std::vector<Order> orders(arms.size());
  std::vector<Block> match(arms.size());
  std::vector<Block> control(arms.size());
  for (std::size_t i = 0; i < arms.size(); ++i) {
    orders[i] = draw_order(i);
    match[i].problem_index = control[i].problem_index = static_cast<int>(i);
  }
  for (const std::size_t half : {0, 1}) {
    rows_.push_back({.reference_ns = machine_.reference_ns()});
    for (std::size_t i = 0; i < arms.size(); ++i) {
      std::array<double, 3> ns = {};
      for (const std::size_t arm : orders[i]) {
        ns[arm] = machine_.call_ns(arms[i][arm] + (arm == 2 ? delay : 0), guest_shares[arm]);
      }
      std::reverse(orders[i].begin(), orders[i].end());
      match[i].a_ns[half] = control[i].a_ns[half] = ns[0];
      match[i].b_ns[half] = ns[1];
      control[i].b_ns[half] = ns[2];
    }
  }
  std::vector<Block>& controls = copy_is_slowed ? heat.slowed : heat.same;
  heat.match.insert(heat.match.end(), match.begin(), match.end());
  controls.insert(controls.end(), control.begin(), control.end());
}

// Sweeps were played in the order of the match's blocks, and every second one of a control.
void SimulatedMatch::mark_disturbed(HeatSamples& heat) {
  const std::vector<bool> disturbed = find_disturbed(rows_);
  const std::size_t problem_count = truth_.speedups.size();
  std::size_t same = 0;
  std::size_t slowed = 0;
  for (std::size_t sweep = 0; 2 * sweep < rows_.size(); ++sweep) {
    const bool hit = disturbed[2 * sweep] || disturbed[2 * sweep + 1];
    const bool is_slowed = copy_is_slowed(sweep);
    std::size_t& next = is_slowed ? slowed : same;
    for (std::size_t i = 0; i < problem_count; ++i) {
      heat.match[sweep * problem_count + i].disturbed = hit;
      (is_slowed ? heat.slowed : heat.same)[next++].disturbed = hit;
    }
  }
}

}  // namespace thresher::referee
