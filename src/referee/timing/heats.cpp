// SPDX-License-Identifier: Apache-2.0
#include "referee/timing/heats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <utility>

#include "cpu/side_by_side.hpp"
#include "referee/statistics/disturbance.hpp"
#include "referee/statistics/heat_values.hpp"
#include "referee/timing/weather.hpp"
#include "referee/venue.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

constexpr int kWarmUpRows = 2;
// A busy core spoils some calls and not others: a pilot of a few calls may meet none of them.
constexpr int kPilotRows = 4;  // at least; the first of them tells nothing: everything is new to it
constexpr int kPilotRowsMax = 40;
constexpr double kPilotShare = 0.2;  // of a heat

// Below the first a machine is quiet, beyond the second it is loud.
constexpr double kQuietSpread = 0.01;
constexpr double kLoudSpread = 0.03;

// What spoils a short call, such as a kernel slow to wake a process, lasts longer than the call.
constexpr int kRepeatsWanted = 3;

// Of one value around the mean of its list.
double pooled_sd(const std::vector<std::vector<double>>& lists) {
  double variance = 0;
  for (const std::vector<double>& list : lists) {
    const double sd = mean_of_heats(list).sd;
    variance += sd * sd / static_cast<double>(lists.size());
  }
  return std::sqrt(variance);
}

// Seconds from one question to the next.
class Laps {
 public:
  double next() {
    const Clock::time_point now = Clock::now();
    return std::chrono::duration<double>(now - std::exchange(begin_, now)).count();
  }

 private:
  Clock::time_point begin_ = Clock::now();
};

class HeatPlay {
 public:
  // `repeats`: 0 for the first heat, which has to find out.
  HeatPlay(const Contest& contest, const Samplers& samplers, std::uint64_t seed, int repeats)
      : contest_(contest),
        problem_count_(static_cast<int>(contest.suite.problems.size())),
        random_(Random::secret(seed)),
        sampler_(samplers(random_)),
        repeats_(sampler_->repeats_max() == 1 ? 1 : repeats) {}

  Heat play(Clock::time_point deadline) {
    heat_.seconds.inputs = laps_.next();
    start();
    heat_.seconds.start = laps_.next();
    prepare();
    heat_.seconds.prepare = laps_.next();
    warm_up();
    heat_.seconds.warm_up = laps_.next();
    play_sweeps(deadline);
    heat_.seconds.timing = laps_.next();
    finish();
    heat_.seconds.end = laps_.next();
    return std::move(heat_);
  }

 private:
  static constexpr std::size_t kArmCount = std::size(kRoles);

  Arm& arm(Role role) { return sampler_->arm(role); }

  const std::string& name_of(int problem_index) const {
    return contest_.suite.problems[static_cast<std::size_t>(problem_index)].name;
  }

  // A fault of the challenger ends the heat, one of the champion the match.
  void hold(Role role, std::optional<Fault> fault) {
    if (!fault || heat_.fault) return;
    if (role != Role::kChallenger) {
      throw Error(fmt::format("the champion failed (check '{}'): {}", fault->check, fault->reason));
    }
    heat_.fault = std::move(fault);
  }

  // All at a time: most of it is waiting for a device, or for somebody's packages to load.
  void start() {
    std::array<std::optional<Fault>, kArmCount> faults;
    cpu::side_by_side(kArmCount, kArmCount,
                      [&](std::size_t i) { faults[i] = arm(kRoles[i]).start(); });
    for (std::size_t i = 0; i < kArmCount; ++i) hold(kRoles[i], std::move(faults[i]));
  }

  // One after the other, because packing is timed; whoever packs first may find the better memory.
  void prepare() {
    for (const Role role : in_random_order(random_)) {
      if (!heat_.fault) hold(role, sampler_->prepare(role));
    }
    heat_.champion_prepare_seconds = arm(Role::kChampion).prepare_seconds();
    heat_.challenger_prepare_seconds = arm(Role::kChallenger).prepare_seconds();
  }

  // All arms, so that none meets its first timed call with pages it has never touched.
  void warm_up() {
    Laps laps;
    double rows_seconds = 0;
    std::vector<std::vector<double>> log_ns(2 * static_cast<std::size_t>(problem_count_));
    int row = 0;
    for (; row < kWarmUpRows || (repeats_ == 0 && pilot_goes_on(row, rows_seconds)); ++row) {
      sampler_->begin_row();
      for (int problem = 0; problem < problem_count_; ++problem) {
        sampler_->draw(problem);
        for (const Role role : in_random_order(random_)) {
          const double ns = sample(role, problem, 0);
          if (heat_.fault) return;
          if (row == 0 || role == Role::kChallenger) continue;
          const std::size_t arm_index = role == Role::kCopy ? 1 : 0;
          log_ns[2 * static_cast<std::size_t>(problem) + arm_index].push_back(std::log(ns));
        }
      }
      const double seconds = laps.next();
      if (row > 0) rows_seconds += seconds;
    }
    if (repeats_ == 0) ask_pilot(log_ns, rows_seconds / (row - 1));
  }

  bool pilot_goes_on(int row_count, double rows_seconds) const {
    if (row_count < kPilotRows) return true;
    return row_count < kPilotRowsMax && rows_seconds < kPilotShare * contest_.heat_seconds;
  }

  // A block is two such rows.
  void ask_pilot(const std::vector<std::vector<double>>& log_ns, double row_seconds) {
    const HeatSeconds& spent = heat_.seconds;
    Pilot pilot{.spread = pooled_sd(log_ns), .block_seconds = 2 * row_seconds};
    pilot.repeats = repeats_for(
        {.spread = pilot.spread,
         .block_seconds = pilot.block_seconds,
         .overhead_seconds = spent.inputs + spent.start + spent.prepare + kWarmUpRows * row_seconds,
         .heat_seconds = contest_.heat_seconds,
         .heat_seconds_max = contest_.heat_seconds_max,
         .blocks_per_problem = contest_.blocks_per_problem,
         .repeats_max = sampler_->repeats_max()});
    repeats_ = pilot.repeats;
    heat_.pilot = pilot;
  }

  void play_sweeps(Clock::time_point deadline) {
    if (heat_.fault) return;
    StealCount stolen = steal_so_far();
    for (const Sweep& sweep :
         plan_sweeps(problem_count_, repeats_ * contest_.blocks_per_problem, random_)) {
      std::vector<PlayedBlock> played(sweep.blocks.size());
      for (const int half : {0, 1}) {
        heat_.out_of_time = Clock::now() > deadline;
        if (heat_.fault || heat_.out_of_time) return;
        RowWeather weather{.reference_ns = sampler_->begin_row()};
        for (std::size_t i = 0; i < sweep.blocks.size(); ++i) {
          play_half(sweep.blocks[i], half, sweep.copy_is_slowed, played[i]);
        }
        const StealCount now = steal_so_far();
        weather.steal_share = steal_share(std::exchange(stolen, now), now);
        rows_.push_back(weather);
      }
      std::vector<Block>& controls =
          sweep.copy_is_slowed ? heat_.samples.slowed : heat_.samples.same;
      for (std::size_t i = 0; i < sweep.blocks.size(); ++i) {
        heat_.samples.match.push_back(against(Role::kChallenger, sweep.blocks[i], played[i]));
        controls.push_back(against(Role::kCopy, sweep.blocks[i], played[i]));
      }
      control_sweeps_[sweep.copy_is_slowed ? 1 : 0].push_back(rows_.size() / 2 - 1);
    }
    mark_disturbed();
  }

  // Nanoseconds by role and half.
  using PlayedBlock = std::array<std::array<double, 2>, kArmCount>;

  // Three of the six calls of a block: one of each arm, the other way round in the second half.
  void play_half(const PlannedBlock& planned, int half, bool copy_is_slowed, PlayedBlock& played) {
    sampler_->draw(planned.problem_index);
    for (std::size_t i = 0; i < kArmCount; ++i) {
      const Role role = planned.order[half == 0 ? i : kArmCount - 1 - i];
      played[static_cast<std::size_t>(role)][static_cast<std::size_t>(half)] =
          sample(role, planned.problem_index, slowed_share(role, copy_is_slowed));
    }
  }

  // What is held back of the champion's answers is held back of its copy's.
  double slowed_share(Role role, bool copy_is_slowed) const {
    if (role == Role::kChallenger) return contest_.challenger_slowed_share;
    const double gain = 1 + contest_.champion_slowed_share;
    return role == Role::kCopy && copy_is_slowed ? gain * (1 + kSlowedShare) - 1 : gain - 1;
  }

  // The champion's calls of a block and the other's.
  static Block against(Role opponent, const PlannedBlock& planned, const PlayedBlock& played) {
    Block block{.problem_index = planned.problem_index};
    for (const std::size_t half : {0, 1}) {
      block.a_ns[half] = played[static_cast<std::size_t>(Role::kChampion)][half];
      block.b_ns[half] = played[static_cast<std::size_t>(opponent)][half];
    }
    const auto place = [&](Role role) {
      return std::find(planned.order.begin(), planned.order.end(), role);
    };
    block.first_arm_a = place(Role::kChampion) < place(opponent);
    return block;
  }

  void mark_disturbed() {
    const std::vector<bool> disturbed = find_disturbed(rows_);
    const auto mark = [&](std::vector<Block>& blocks, const auto& sweep_at) {
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        const std::size_t sweep = sweep_at(i / static_cast<std::size_t>(problem_count_));
        blocks[i].disturbed = disturbed[2 * sweep] || disturbed[2 * sweep + 1];
      }
    };
    mark(heat_.samples.match, [](std::size_t sweep) { return sweep; });
    mark(heat_.samples.same, [&](std::size_t i) { return control_sweeps_[0][i]; });
    mark(heat_.samples.slowed, [&](std::size_t i) { return control_sweeps_[1][i]; });
  }

  double sample(Role role, int problem_index, double slowed_share) {
    if (heat_.fault) return 0;
    TimedSample taken = sampler_->sample(role, problem_index, slowed_share);
    hold(role, on_problem(name_of(problem_index), std::move(taken.fault)));
    return taken.ns;
  }

  void finish() {
    for (const Role role : kRoles) hold(role, arm(role).find_late_write());
    // What a process changes while it ends has no call to spoil any more.
    bool intact = true;
    std::vector<std::function<void()>> tasks{[&] { intact = sampler_->weights_intact(); }};
    for (const Role role : kRoles) tasks.emplace_back([this, role] { arm(role).finish(); });
    cpu::side_by_side(tasks.size(), tasks.size(), [&](std::size_t i) { tasks[i](); });
    if (!intact) hold(Role::kChallenger, invalid(check::kInputs, "weights were changed"));
  }

  Laps laps_;  // from the beginning of the heat
  const Contest& contest_;
  const int problem_count_;
  Random random_;
  const std::unique_ptr<Sampler> sampler_;
  int repeats_;
  std::vector<RowWeather> rows_;                            // two of every sweep
  std::array<std::vector<std::size_t>, 2> control_sweeps_;  // where the copy was as it is, slowed
  Heat heat_;
};

Samplers samplers_for(const Contest& contest, std::uint64_t seed) {
  Random random = Random::secret(seed);
  return venue_of(contest.champion.job.backend).samplers(contest, random);
}

}  // namespace

int repeats_for(const PilotQuestion& question) {
  const double once_seconds = question.block_seconds * question.blocks_per_problem;
  if (!(once_seconds > 0)) return 1;
  const double times_overhead = question.spread < kQuietSpread  ? 1
                                : question.spread < kLoudSpread ? 2
                                                                : 4;
  const double heat_seconds = question.spread < kQuietSpread ? 0 : question.heat_seconds;
  const double wanted = std::max(times_overhead * question.overhead_seconds,
                                 heat_seconds - question.overhead_seconds) /
                        once_seconds;
  const double room = (question.heat_seconds_max - question.overhead_seconds) / once_seconds;
  const double repeats = std::min(std::max(wanted, double{kRepeatsWanted}), room);
  return static_cast<int>(std::clamp<double>(repeats, 1, question.repeats_max));
}

std::vector<Sweep> plan_sweeps(int problem_count, int sweep_count, Random& random) {
  const bool first_is_slowed = random.below(2) == 0;
  std::vector<Sweep> sweeps(static_cast<std::size_t>(sweep_count));
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    sweeps[i].copy_is_slowed = first_is_slowed == (i % 2 == 0);
  }
  shuffle(sweeps, random);
  std::vector<std::array<Role, std::size(kRoles)>> middles(static_cast<std::size_t>(problem_count),
                                                           std::to_array(kRoles));
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    Sweep& sweep = sweeps[i];
    for (std::size_t problem = 0; problem < middles.size(); ++problem) {
      const std::size_t turn = i % std::size(kRoles);
      if (turn == 0) shuffle(middles[problem], random);
      PlannedBlock& block = sweep.blocks.emplace_back();
      block.problem_index = static_cast<int>(problem);
      std::iter_swap(block.order.begin() + 1,
                     std::find(block.order.begin(), block.order.end(), middles[problem][turn]));
      if (random.below(2) == 0) std::swap(block.order.front(), block.order.back());
    }
    shuffle(sweep.blocks, random);
  }
  return sweeps;
}

Heats::Heats(const Contest& contest, std::uint64_t seed)
    : contest_(contest), samplers_(samplers_for(contest, seed)) {}

Heat Heats::play(std::uint64_t seed, Clock::time_point deadline) {
  Heat heat = HeatPlay(contest_, samplers_, seed, repeats_).play(deadline);
  if (heat.pilot) repeats_ = heat.pilot->repeats;
  return heat;
}

}  // namespace thresher::referee
