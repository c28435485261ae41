// SPDX-License-Identifier: Apache-2.0
#include "referee/timing/heats.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <functional>
#include <utility>

#include "cpu/side_by_side.hpp"
#include "referee/venue.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

constexpr int kWarmUpCalls = 2;

template <typename Items>
void shuffle(Items& items, Random& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
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
  HeatPlay(const Contest& contest, const Samplers& samplers, std::uint64_t seed)
      : contest_(contest), random_(seed), sampler_(samplers(random_)) {}

  Heat play(Clock::time_point deadline) {
    heat_.seconds.inputs = laps_.next();
    start();
    heat_.seconds.start = laps_.next();
    prepare();
    heat_.seconds.prepare = laps_.next();
    const auto problem_count = static_cast<int>(contest_.suite.problems.size());
    for (int problem = 0; problem < problem_count; ++problem) warm_up(problem);
    heat_.seconds.warm_up = laps_.next();
    for (const PlannedBlock& block :
         plan_blocks(problem_count, contest_.blocks_per_problem, random_)) {
      if (heat_.fault) break;
      heat_.out_of_time = Clock::now() > deadline;
      if (heat_.out_of_time) break;
      play_block(block);
    }
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

  void warm_up(int problem_index) {
    double champion_ns = 0;
    for (int i = 0; i < kWarmUpCalls; ++i) {
      for (const Role role : {Role::kChallenger, Role::kCopy, Role::kChampion}) {
        if (heat_.fault) return;
        TimedSample taken = sampler_->warm_up(role, problem_index);
        champion_ns = taken.ns;
        hold(role, on_problem(name_of(problem_index), std::move(taken.fault)));
      }
    }
    if (!heat_.fault) sampler_->settle(problem_index, champion_ns);
  }

  void play_block(const PlannedBlock& planned) {
    const Role b = planned.pairing == Pairing::kMatch  ? Role::kChallenger
                   : planned.pairing == Pairing::kSame ? Role::kCopy
                                                       : Role::kChampion;
    const double a_slowed =
        planned.pairing == Pairing::kMatch ? contest_.champion_slowed_share : 0.0;
    const double b_slowed = planned.pairing == Pairing::kSlowed ? kSlowedShare : 0.0;
    Block block{.problem_index = planned.problem_index, .first_arm_a = planned.first_arm_a};
    int a_count = 0;
    int b_count = 0;
    for (const bool outer : {true, false, false, true}) {
      const bool is_a = outer == planned.first_arm_a;
      const double ns = is_a ? sample(Role::kChampion, planned.problem_index, a_slowed)
                             : sample(b, planned.problem_index, b_slowed);
      (is_a ? block.a_ns[a_count++] : block.b_ns[b_count++]) = ns;
    }
    blocks_of(planned.pairing).push_back(block);
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
  Random random_;
  const std::unique_ptr<Sampler> sampler_;
  Heat heat_;
};

Samplers samplers_for(const Contest& contest, std::uint64_t seed) {
  Random random(seed);
  return venue_of(contest.champion.job.backend).samplers(contest, random);
}

}  // namespace

std::vector<PlannedBlock> plan_blocks(int problem_count, int match_blocks, Random& random) {
  std::vector<PlannedBlock> blocks;
  for (int problem = 0; problem < problem_count; ++problem) {
    for (int i = 0; i < match_blocks; ++i) blocks.push_back({Pairing::kMatch, problem});
    blocks.push_back({Pairing::kSame, problem});
    blocks.push_back({Pairing::kSlowed, problem});
  }
  shuffle(blocks, random);
  for (PlannedBlock& block : blocks) block.first_arm_a = random.below(2) == 0;
  return blocks;
}

std::array<Role, std::size(kRoles)> plan_packing(Random& random) {
  std::array roles = std::to_array(kRoles);
  shuffle(roles, random);
  return roles;
}

Heats::Heats(const Contest& contest, std::uint64_t seed)
    : contest_(contest), samplers_(samplers_for(contest, seed)) {}

Heat Heats::play(std::uint64_t seed, Clock::time_point deadline) {
  return HeatPlay(contest_, samplers_, seed).play(deadline);
}

}  // namespace thresher::referee
