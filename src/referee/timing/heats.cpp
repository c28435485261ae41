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
constexpr int kPilotRows = 4;  // the first of them tells nothing: everything is new to it

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

  // One after the other, because packing is timed.
  void prepare() {
    for (const Role role : plan_packing(random_)) {
      if (!heat_.fault) hold(role, sampler_->prepare(role));
    }
    heat_.champion_prepare_seconds = arm(Role::kChampion).prepare_seconds();
    heat_.challenger_prepare_seconds = arm(Role::kChallenger).prepare_seconds();
  }

  // All arms, so that none meets its first timed call with pages it has never touched.
  void warm_up() {
    Laps laps;
    double rows_seconds = 0;  // as rows of a block are: of two arms
    const int row_count = repeats_ == 0 ? kPilotRows : kWarmUpRows;
    std::vector<std::vector<double>> log_ns(2 * static_cast<std::size_t>(problem_count_));
    for (int row = 0; row < row_count; ++row) {
      sampler_->begin_row();
      for (int problem = 0; problem < problem_count_; ++problem) {
        sampler_->draw(problem);
        for (const Role role : {Role::kChallenger, Role::kChampion, Role::kCopy}) {
          Laps own;
          const double ns = sample(role, problem, 0);
          if (heat_.fault) return;
          if (role == Role::kCopy && row > 0) rows_seconds -= own.next();
          if (row == 0 || role == Role::kChallenger) continue;
          const std::size_t arm_index = role == Role::kCopy ? 1 : 0;
          log_ns[2 * static_cast<std::size_t>(problem) + arm_index].push_back(std::log(ns));
        }
      }
      const double seconds = laps.next();
      if (row > 0) rows_seconds += seconds;
    }
    if (repeats_ == 0) ask_pilot(log_ns, rows_seconds / (row_count - 1));
  }

  // A block is two rows.
  void ask_pilot(const std::vector<std::vector<double>>& log_ns, double row_seconds) {
    const HeatSeconds& spent = heat_.seconds;
    Pilot pilot{.spread = pooled_sd(log_ns), .block_seconds = 2 * row_seconds};
    pilot.repeats = repeats_for(
        {.spread = pilot.spread,
         .block_seconds = pilot.block_seconds,
         .overhead_seconds = spent.inputs + spent.start + spent.prepare + kWarmUpRows * row_seconds,
         .heat_seconds_max = contest_.heat_seconds_max,
         .blocks_per_problem = contest_.blocks_per_problem,
         .repeats_max = sampler_->repeats_max()});
    repeats_ = pilot.repeats;
    heat_.pilot = pilot;
  }

  void play_sweeps(Clock::time_point deadline) {
    if (heat_.fault) return;
    StealCount stolen = steal_so_far();
    for (const Sweep& sweep : plan_sweeps(problem_count_, repeats_ * contest_.blocks_per_problem,
                                          control_blocks_for(repeats_), random_)) {
      std::vector<Block> blocks(sweep.size());
      for (const int half : {0, 1}) {
        heat_.out_of_time = Clock::now() > deadline;
        if (heat_.fault || heat_.out_of_time) return;
        RowWeather weather{.reference_ns = sampler_->begin_row()};
        for (std::size_t i = 0; i < sweep.size(); ++i) play_half(sweep[i], half, blocks[i]);
        const StealCount now = steal_so_far();
        weather.steal_share = steal_share(std::exchange(stolen, now), now);
        rows_.push_back(weather);
      }
      for (const Block& block : blocks) {
        blocks_of(sweep.front().pairing).push_back(block);
        sweep_of_block(sweep.front().pairing).push_back(rows_.size() / 2 - 1);
      }
    }
    mark_disturbed();
  }

  // Two of the four calls of a block: one of each arm, the other way round in the second half.
  void play_half(const PlannedBlock& planned, int half, Block& block) {
    block.problem_index = planned.problem_index;
    block.first_arm_a = planned.first_arm_a;
    const bool a_first = planned.first_arm_a == (half == 0);
    sampler_->draw(planned.problem_index);
    for (const bool is_a : {a_first, !a_first}) {
      (is_a ? block.a_ns[half] : block.b_ns[half]) =
          is_a ? sample_champion(planned) : sample_opponent(planned);
    }
  }

  double sample_champion(const PlannedBlock& planned) {
    const bool is_match = planned.pairing == Pairing::kMatch;
    return sample(Role::kChampion, planned.problem_index,
                  is_match ? contest_.champion_slowed_share : 0.0);
  }

  double sample_opponent(const PlannedBlock& planned) {
    const bool is_match = planned.pairing == Pairing::kMatch;
    return sample(is_match ? Role::kChallenger : Role::kCopy, planned.problem_index,
                  planned.pairing == Pairing::kSlowed ? kSlowedShare : 0.0);
  }

  void mark_disturbed() {
    const std::vector<bool> disturbed = find_disturbed(rows_);
    for (const Pairing pairing : {Pairing::kMatch, Pairing::kSame, Pairing::kSlowed}) {
      std::vector<Block>& blocks = blocks_of(pairing);
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        const std::size_t sweep = sweep_of_block(pairing)[i];
        blocks[i].disturbed = disturbed[2 * sweep] || disturbed[2 * sweep + 1];
      }
    }
  }

  std::vector<std::size_t>& sweep_of_block(Pairing pairing) {
    return sweeps_[static_cast<std::size_t>(pairing)];
  }

  std::vector<Block>& blocks_of(Pairing pairing) {
    return pairing == Pairing::kMatch  ? heat_.samples.match
           : pairing == Pairing::kSame ? heat_.samples.same
                                       : heat_.samples.slowed;
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
  std::vector<RowWeather> rows_;                    // two of every sweep
  std::array<std::vector<std::size_t>, 3> sweeps_;  // of the blocks, by pairing
  Heat heat_;
};

Samplers samplers_for(const Contest& contest, std::uint64_t seed) {
  Random random = Random::secret(seed);
  return venue_of(contest.champion.job.backend).samplers(contest, random);
}

}  // namespace

int control_blocks_for(int repeats) { return (repeats + 1) / 2; }

int repeats_for(const PilotQuestion& question) {
  if (!(question.block_seconds > 0)) return 1;
  const auto timing_seconds = [&](int repeats) {
    const int blocks = repeats * question.blocks_per_problem + 2 * control_blocks_for(repeats);
    return blocks * question.block_seconds;
  };
  const double times_overhead = question.spread < kQuietSpread  ? 1
                                : question.spread < kLoudSpread ? 2
                                                                : 4;
  const double wanted_seconds =
      std::max(times_overhead * question.overhead_seconds, timing_seconds(kRepeatsWanted));
  const double seconds =
      std::min(wanted_seconds, question.heat_seconds_max - question.overhead_seconds);
  int repeats = 1;
  while (repeats < question.repeats_max && timing_seconds(repeats + 1) <= seconds) ++repeats;
  return repeats;
}

std::vector<Sweep> plan_sweeps(int problem_count, int match_blocks, int control_blocks,
                               Random& random) {
  std::vector<Sweep> sweeps;
  const auto add = [&](Pairing pairing, int count) {
    for (int i = 0; i < count; ++i) {
      Sweep& sweep = sweeps.emplace_back();
      for (int problem = 0; problem < problem_count; ++problem) sweep.push_back({pairing, problem});
      shuffle(sweep, random);
    }
  };
  add(Pairing::kMatch, match_blocks);
  add(Pairing::kSame, control_blocks);
  add(Pairing::kSlowed, control_blocks);
  shuffle(sweeps, random);
  for (Sweep& sweep : sweeps) {
    for (PlannedBlock& block : sweep) block.first_arm_a = random.below(2) == 0;
  }
  return sweeps;
}

std::array<Role, std::size(kRoles)> plan_packing(Random& random) {
  std::array roles = std::to_array(kRoles);
  shuffle(roles, random);
  return roles;
}

Heats::Heats(const Contest& contest, std::uint64_t seed)
    : contest_(contest), samplers_(samplers_for(contest, seed)) {}

Heat Heats::play(std::uint64_t seed, Clock::time_point deadline) {
  Heat heat = HeatPlay(contest_, samplers_, seed, repeats_).play(deadline);
  if (heat.pilot) repeats_ = heat.pilot->repeats;
  return heat;
}

}  // namespace thresher::referee
