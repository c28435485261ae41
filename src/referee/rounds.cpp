// SPDX-License-Identifier: Apache-2.0
#include "referee/rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "referee/eviction.hpp"
#include "referee/values.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

constexpr int kWarmUpCalls = 2;
// A kernel that takes its time to wake a process, or a host that takes a core away, spoils a short
// call by far more than its length. Of a problem with short calls a sample is the median of
// several: an odd number, enough to fill this time, and not too many.
constexpr double kSampleNs = 15e6;
constexpr int kCallsPerSampleMax = 5;

std::size_t calls_per_sample(double call_ns) {
  const int wanted = static_cast<int>(std::min<double>(kCallsPerSampleMax, kSampleNs / call_ns));
  return static_cast<std::size_t>(std::max(1, wanted - (wanted + 1) % 2));
}

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

class RoundPlay {
 public:
  RoundPlay(const Contest& contest, std::uint64_t seed)
      : contest_(contest),
        random_(seed),
        stage_(contest.suite.problems, Room::kForAll),
        champion_(arm(contest.champion)),
        copy_(arm(contest.champion)),
        challenger_(arm(contest.challenger)) {
    for (const Problem& problem : contest.suite.problems) {
      staged_.push_back(
          stage_.put(problem, make_inputs(problem, InputFamily::kNatural, random_.next())));
    }
  }

  Round play(Clock::time_point deadline) {
    get_ready();
    for (const PlannedBlock& block : plan_blocks(contest_, random_)) {
      if (round_.fault) break;
      round_.out_of_time = Clock::now() > deadline;
      if (round_.out_of_time) break;
      play_block(block);
    }
    finish();
    return std::move(round_);
  }

 private:
  Arm arm(const Job& job) {
    return Arm(job, stage_, contest_.suite.problems, contest_.arm, random_.next());
  }

  // A fault of the challenger ends the round, one of the champion the match.
  void hold(Arm& arm, std::optional<Fault> fault) {
    if (!fault || round_.fault) return;
    if (&arm != &challenger_) {
      throw Error(fmt::format("the champion failed (check '{}'): {}", fault->check, fault->reason));
    }
    round_.fault = std::move(fault);
  }

  void get_ready() {
    // In random order: whoever packs first may find the better memory.
    std::array<Arm*, 3> arms = {&champion_, &copy_, &challenger_};
    for (std::size_t i = arms.size(); i > 1; --i) std::swap(arms[i - 1], arms[random_.below(i)]);
    for (Arm* arm : arms) {
      hold(*arm, arm->start());
      for (const StagedProblem& staged : staged_) {
        if (!round_.fault) hold(*arm, arm->prepare(staged));
      }
    }
    round_.champion_prepare_seconds = champion_.prepare_seconds();
    round_.challenger_prepare_seconds = challenger_.prepare_seconds();
    for (StagedProblem& staged : staged_) {
      double champion_ns = 0;
      for (int i = 0; i < kWarmUpCalls; ++i) {
        for (Arm* arm : {&challenger_, &copy_, &champion_}) champion_ns = call(*arm, staged, 0);
      }
      call_counts_.push_back(round_.fault ? 1 : calls_per_sample(champion_ns));
    }
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
    StagedProblem& staged = staged_[static_cast<std::size_t>(problem_index)];
    std::vector<double> ns(call_counts_[static_cast<std::size_t>(problem_index)]);
    for (double& one : ns) one = call(arm, staged, slowed_share);
    std::sort(ns.begin(), ns.end());
    return ns[ns.size() / 2];
  }

  // One timed call with values nobody has seen, checked in every way there is.
  double call(Arm& arm, StagedProblem& staged, double slowed_share) {
    if (round_.fault) return 0;
    if (!contest_.cold) warm_caches(arm, staged);
    redraw_activations(staged.problem, staged.inputs, random_);
    CallResult result = arm.call(staged, {.slowed_share = slowed_share,
                                          .before_window = contest_.cold ? evict_caches : nullptr});
    if (!result.fault) result.fault = contest_.light.check(staged.problem, result.ns);
    if (!result.fault) result.fault = wrong_value(staged, result.outputs);
    hold(arm, std::move(result.fault));
    return result.ns;
  }

  // An untimed call of the same problem right before: what the other arm left is gone.
  void warm_caches(Arm& arm, StagedProblem& staged) {
    redraw_activations(staged.problem, staged.inputs, random_);
    CallResult result = arm.call(staged);
    if (!result.fault) result.fault = wrong_value(staged, result.outputs);
    hold(arm, std::move(result.fault));
  }

  std::optional<Fault> wrong_value(const StagedProblem& staged,
                                   const std::vector<OutputView>& outputs) {
    const std::string failure = find_wrong_timed_value(staged, outputs, random_.next());
    if (failure.empty()) return std::nullopt;
    return wrong(check::kTimedOutput,
                 fmt::format("problem '{}', in a timed call: {}", staged.problem.name, failure));
  }

  void finish() {
    for (Arm* arm : {&champion_, &copy_, &challenger_}) {
      hold(*arm, arm->find_late_write());
      arm->finish();
    }
    for (const StagedProblem& staged : staged_) {
      if (!stage_.weights_intact(staged)) {
        hold(challenger_, invalid(check::kInputs, "weights were changed"));
      }
    }
  }

  const Contest& contest_;
  Random random_;
  Stage stage_;
  std::vector<StagedProblem> staged_;
  std::vector<std::size_t> call_counts_;  // per sample, by problem
  Arm champion_;
  Arm copy_;
  Arm challenger_;
  Round round_;
};

}  // namespace

Round play_round(const Contest& contest, std::uint64_t seed, Clock::time_point deadline) {
  return RoundPlay(contest, seed).play(deadline);
}

}  // namespace thresher::referee
