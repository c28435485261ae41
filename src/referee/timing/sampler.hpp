// SPDX-License-Identifier: Apache-2.0
// How timed samples are taken in a heat: what its arms run on, and what a sample is there. On the
// CPU a sample is a single call (sampler_cpu.cpp), on a GPU a batch of calls that go round several
// copies of the weights (sampler_gpu.cpp).
//
// Samples come in rows: in a row no arm meets a problem twice. So everything an arm has made of the
// weights of a problem is as it was left by what the referee did before the row, and evicting
// caches, which may take longer than all calls of a row together, is done once for all of them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "gemm/random.hpp"
#include "gemm/suite.hpp"
#include "referee/contestant/build.hpp"
#include "referee/timing/arm.hpp"
#include "referee/timing/light.hpp"

namespace thresher::referee {

// What all heats of a match have in common.
struct Contest {
  const Suite& suite;
  Side champion;
  Side challenger;
  ArmOptions arm;
  Light& light;
  int blocks_per_problem = 4;  // at least; the pilot of the first heat may ask for more
  int heats_min = 5;           // no verdict is accepted before
  bool cold = true;
  double heat_seconds = 1;       // heats_max heats of this length fill the time of the match
  double heat_seconds_max = 10;  // a pilot does not ask for longer heats
  // They take this much longer in the match itself: a gain or a regression of known size, for
  // testing the referee.
  double champion_slowed_share = 0;
  double challenger_slowed_share = 0;
};

// Who an arm is. The copy is the champion once more, in a process of its own.
enum class Role : std::uint8_t { kChampion, kCopy, kChallenger };
inline constexpr Role kRoles[] = {Role::kChampion, Role::kCopy, Role::kChallenger};

// For whatever is done with one arm after the other. Nobody shall know which arm it is by what came
// before it and after it: a champion that knew its copy could make it slow, and void every match.
inline std::array<Role, std::size(kRoles)> in_random_order(Random& random) {
  std::array roles = std::to_array(kRoles);
  shuffle(roles, random);
  return roles;
}

inline const Side& side_of(const Contest& contest, Role role) {
  return role == Role::kChallenger ? contest.challenger : contest.champion;
}

// Whether a sample of the role is impossibly fast. Our own engine is a witness here, never accused.
inline std::optional<Fault> check_light(const Contest& contest, Role role, const Problem& problem,
                                        double ns) {
  if (side_of(contest, role).job.kind != JobKind::kVariant) return contest.light.check(problem, ns);
  contest.light.has_been_reached(problem, ns);
  return std::nullopt;
}

// One timed sample, checked in every way there is.
struct TimedSample {
  std::optional<Fault> fault;
  double ns = 0;
};

class Sampler {
 public:
  virtual ~Sampler() = default;

  virtual Arm& arm(Role role) = 0;
  // All problems.
  virtual std::optional<Fault> prepare(Role role) = 0;
  // Brings the caches to the same state for every arm, with all of them stopped. Returns how long
  // some fixed work of the referee took, which says whether the machine was disturbed; 0: none.
  virtual double begin_row() = 0;
  // How many times as many blocks a pilot may ask for: 1 where a sample is long by itself.
  virtual int repeats_max() const = 0;
  // Values that nobody has seen, for the samples of this problem that follow: one of each arm at
  // most. Arms that are compared have the same, and what is right is then found out once for all.
  virtual void draw(int problem_index) = 0;
  virtual TimedSample sample(Role role, int problem_index, double slowed_share) = 0;
  virtual bool weights_intact() const = 0;
};

// Makes the sampler of each heat, and holds what all heats of a match share. `random` is the
// heat's, and must outlive the sampler.
using Samplers = std::function<std::unique_ptr<Sampler>(Random& random)>;

// The contest must outlive them.
Samplers cpu_samplers(const Contest& contest, Random& random);
Samplers gpu_samplers(const Contest& contest, Random& random);

}  // namespace thresher::referee
