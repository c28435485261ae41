// SPDX-License-Identifier: Apache-2.0
// How timed samples are taken in a heat: what its arms run on, and what a sample is there. On the
// CPU a sample is a single call or the median of a few (sampler_cpu.cpp), on a GPU a batch of calls
// that go round several copies of the weights (sampler_gpu.cpp).
#pragma once

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
  const Light& light;
  int blocks_per_problem = 3;
  bool cold = true;
  // The champion takes this much longer in the match itself: a gain of known size, for testing the
  // referee.
  double champion_slowed_share = 0;
};

// Who an arm is. The copy is the champion once more, in a process of its own.
enum class Role : std::uint8_t { kChampion, kCopy, kChallenger };
inline constexpr Role kRoles[] = {Role::kChampion, Role::kCopy, Role::kChallenger};

inline const Side& side_of(const Contest& contest, Role role) {
  return role == Role::kChallenger ? contest.challenger : contest.champion;
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
  virtual TimedSample warm_up(Role role, int problem_index) = 0;
  // Fixes what a sample of the problem is, from what the champion's last warm-up took.
  virtual void settle(int problem_index, double champion_ns) = 0;
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
