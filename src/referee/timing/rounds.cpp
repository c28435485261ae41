// SPDX-License-Identifier: Apache-2.0
#include "referee/timing/rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <utility>

#include "cpu/side_by_side.hpp"
#include "referee/timing/course_cpu.hpp"
#include "referee/timing/course_gpu.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

constexpr int kWarmUpCalls = 2;

enum class Pairing : std::uint8_t { kMatch, kSame, kSlowed };

struct PlannedBlock {
  Pairing pairing = Pairing::kMatch;
  int problem_index = 0;
  bool first_arm_a = true;
};

// Everything once per round, the match several times, in an order nobody can foresee.
std::vector<PlannedBlock> plan_blocks(const Contest& contest, Random& random) {
  std::vector<PlannedBlock> blocks;
  const auto problem_count = static_cast<int>(contest.suite.problems.size());
  for (int problem = 0; problem < problem_count; ++problem) {
    for (int i = 0; i < contest.blocks_per_problem; ++i) {
      blocks.push_back({Pairing::kMatch, problem});
    }
    blocks.push_back({Pairing::kSame, problem});
    blocks.push_back({Pairing::kSlowed, problem});
  }
  for (std::size_t i = blocks.size(); i > 1; --i) std::swap(blocks[i - 1], blocks[random.below(i)]);
  for (PlannedBlock& block : blocks) block.first_arm_a = random.below(2) == 0;
  return blocks;
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

// The course says what is run on and how a sample is taken: CpuCourse or GpuCourse.
template <typename Course>
class RoundPlay {
 public:
  // `common` is what the courses of all rounds share.
  template <typename... Common>
  RoundPlay(const Contest& contest, std::uint64_t seed, Common&... common)
      : contest_(contest),
        random_(seed),
        course_(contest, common..., random_),
        champion_(course_.arm(contest.champion)),
        copy_(course_.arm(contest.champion)),
        challenger_(course_.arm(contest.challenger)) {}

  Round play(Clock::time_point deadline) {
    round_.seconds.inputs = laps_.next();
    start();
    round_.seconds.start = laps_.next();
    prepare();
    round_.seconds.prepare = laps_.next();
    const auto problem_count = static_cast<int>(contest_.suite.problems.size());
    for (int problem = 0; problem < problem_count; ++problem) warm_up(problem);
    round_.seconds.warm_up = laps_.next();
    for (const PlannedBlock& block : plan_blocks(contest_, random_)) {
      if (round_.fault) break;
      round_.out_of_time = Clock::now() > deadline;
      if (round_.out_of_time) break;
      play_block(block);
    }
    round_.seconds.timing = laps_.next();
    finish();
    round_.seconds.end = laps_.next();
    return std::move(round_);
  }

 private:
  using Arm = typename Course::Arm;
  using Arms = std::array<Arm*, 3>;

  Arms all_arms() { return {&champion_, &copy_, &challenger_}; }

  // A fault of the challenger ends the round, one of the champion the match.
  void hold(Arm& arm, std::optional<Fault> fault) {
    if (!fault || round_.fault) return;
    if (&arm != &challenger_) {
      throw Error(fmt::format("the champion failed (check '{}'): {}", fault->check, fault->reason));
    }
    round_.fault = std::move(fault);
  }

  // All at a time: most of it is waiting for a device, or for somebody's packages to load.
  void start() {
    const Arms arms = all_arms();
    std::array<std::optional<Fault>, std::tuple_size_v<Arms>> faults;
    cpu::side_by_side(arms.size(), arms.size(),
                      [&](std::size_t i) { faults[i] = arms[i]->start(); });
    for (std::size_t i = 0; i < arms.size(); ++i) hold(*arms[i], std::move(faults[i]));
  }

  // One after the other, because packing is timed, in random order: whoever packs first may find
  // the better memory.
  void prepare() {
    Arms arms = all_arms();
    for (std::size_t i = arms.size(); i > 1; --i) std::swap(arms[i - 1], arms[random_.below(i)]);
    for (Arm* arm : arms) {
      if (!round_.fault) hold(*arm, course_.prepare(*arm));
    }
    round_.champion_prepare_seconds = champion_.prepare_seconds();
    round_.challenger_prepare_seconds = challenger_.prepare_seconds();
  }

  void warm_up(int problem_index) {
    double champion_ns = 0;
    for (int i = 0; i < kWarmUpCalls; ++i) {
      for (Arm* arm : {&challenger_, &copy_, &champion_}) {
        if (round_.fault) return;
        TimedSample taken = course_.warm_up(*arm, problem_index);
        champion_ns = taken.ns;
        hold(*arm, std::move(taken.fault));
      }
    }
    if (!round_.fault) course_.settle(problem_index, champion_ns);
  }

  void play_block(const PlannedBlock& planned) {
    Arm& a = champion_;
    Arm& b = planned.pairing == Pairing::kMatch  ? challenger_
             : planned.pairing == Pairing::kSame ? copy_
                                                 : champion_;
    const double a_slowed =
        planned.pairing == Pairing::kMatch ? contest_.champion_slowed_share : 0.0;
    const double b_slowed = planned.pairing == Pairing::kSlowed ? kSlowedShare : 0.0;
    Block block{.problem_index = planned.problem_index, .first_arm_a = planned.first_arm_a};
    int a_count = 0;
    int b_count = 0;
    for (const bool outer : {true, false, false, true}) {
      const bool is_a = outer == planned.first_arm_a;
      const double ns = is_a ? sample(a, planned.problem_index, a_slowed)
                             : sample(b, planned.problem_index, b_slowed);
      (is_a ? block.a_ns[a_count++] : block.b_ns[b_count++]) = ns;
    }
    blocks_of(planned.pairing).push_back(block);
  }

  std::vector<Block>& blocks_of(Pairing pairing) {
    return pairing == Pairing::kMatch  ? round_.samples.match
           : pairing == Pairing::kSame ? round_.samples.same
                                       : round_.samples.slowed;
  }

  double sample(Arm& arm, int problem_index, double slowed_share) {
    if (round_.fault) return 0;
    TimedSample taken = course_.sample(arm, problem_index, slowed_share);
    hold(arm, std::move(taken.fault));
    return taken.ns;
  }

  void finish() {
    const Arms arms = all_arms();
    for (Arm* arm : arms) hold(*arm, arm->find_late_write());
    // What a process changes while it ends has no call to spoil any more.
    bool intact = true;
    std::vector<std::function<void()>> tasks{[&] { intact = course_.weights_intact(); }};
    for (Arm* arm : arms) tasks.emplace_back([arm] { arm->finish(); });
    cpu::side_by_side(tasks.size(), tasks.size(), [&](std::size_t i) { tasks[i](); });
    if (!intact) hold(challenger_, invalid(check::kInputs, "weights were changed"));
  }

  Laps laps_;  // from the beginning of the round
  const Contest& contest_;
  Random random_;
  Course course_;
  Arm champion_;
  Arm copy_;
  Arm challenger_;
  Round round_;
};

}  // namespace

Rounds::Rounds(const Contest& contest, std::uint64_t seed) : contest_(contest) {
  Random random(seed);
  if (contest.gpu != nullptr) copies_ = GpuCourse::copies_for(contest, random);
}

Rounds::~Rounds() = default;

Round Rounds::play(std::uint64_t seed, Clock::time_point deadline) {
  if (copies_) return RoundPlay<GpuCourse>(contest_, seed, *copies_).play(deadline);
  return RoundPlay<CpuCourse>(contest_, seed).play(deadline);
}

}  // namespace thresher::referee
