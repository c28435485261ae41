// SPDX-License-Identifier: Apache-2.0
#include "tank/season/time_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "gemm/inputs.hpp"
#include "measure/statistics.hpp"
#include "thresher/engine.hpp"

namespace thresher {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kCallsMin = 5;
constexpr std::uint64_t kSeed = 1;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The buffers of one problem, ready to be run again and again.
class Rig {
 public:
  Rig(const Problem& problem, const std::string& variant, int thread_count)
      : engine_({.thread_count = thread_count}),
        inputs_(make_inputs(problem, InputFamily::kNatural, kSeed)),
        plan_(engine_.plan(problem, variant)),
        workspace_(plan_) {
    for (std::size_t g = 0; g < inputs_.groups.size(); ++g) {
      const GroupInputs& group = inputs_.groups[g];
      weights_.push_back(problem.op == Op::kDual
                             ? engine_.pack_dual(group.b.view(), group.b_up.view())
                             : engine_.pack(group.b.view()));
      outputs_.emplace_back(static_cast<std::size_t>(problem.groups[g].m * problem.groups[g].n *
                                                     bytes_per_element(problem.output)));
    }
    for (std::size_t g = 0; g < inputs_.groups.size(); ++g) {
      const GroupInputs& group = inputs_.groups[g];
      operands_.push_back({.a = group.a.view(),
                           .a16 = group.a16.data(),
                           .weights = &weights_[g],
                           .c = outputs_[g].data(),
                           .alpha = group.alpha,
                           .alpha_up = group.alpha_up});
    }
  }

  double median_us(double seconds) {
    engine_.run(plan_, operands_, workspace_);  // first touch of pages and caches
    std::vector<double> samples_us;
    const Clock::time_point begin = Clock::now();
    while (samples_us.size() < kCallsMin || seconds_since(begin) < seconds) {
      const Clock::time_point call = Clock::now();
      engine_.run(plan_, operands_, workspace_);
      samples_us.push_back(1e6 * seconds_since(call));
    }
    return referee::median(samples_us);
  }

 private:
  Engine engine_;
  Inputs inputs_;
  Plan plan_;
  Workspace workspace_;
  std::vector<Weights> weights_;
  std::vector<std::vector<std::byte>> outputs_;
  std::vector<GroupOperands> operands_;
};

}  // namespace

Problem with_short_k(Problem problem) {
  for (Group& group : problem.groups) group.k = std::min(group.k, kShortElements);
  return problem;
}

std::vector<ProblemProfile> profile(const Suite& suite, const std::string& variant,
                                    int thread_count, const MachineRates& rates,
                                    double seconds_per_problem) {
  const double seconds = seconds_per_problem / 3;
  std::vector<ProblemProfile> profiles;
  for (const Problem& problem : suite.problems) {
    profiles.push_back(
        {.problem = problem.name,
         .us = Rig(problem, variant, thread_count).median_us(seconds),
         .short_us = Rig(with_short_k(problem), variant, thread_count).median_us(seconds),
         .one_thread_us = Rig(problem, variant, 1).median_us(seconds),
         .light = speed_of_light(problem, rates)});
  }
  return profiles;
}

std::string light_finding(const std::string& problem, double us, const SpeedOfLight& light) {
  const bool memory_bound = light.memory_us > light.compute_us;
  return fmt::format(
      "{}: {:.0f} us, {:.0f} % of the speed of light (memory {:.0f} us, arithmetic {:.0f} us: {} "
      "decides)",
      problem, us, 100 * light.floor_us() / us, light.memory_us, light.compute_us,
      memory_bound ? "memory" : "arithmetic");
}

std::string finding(const ProblemProfile& profile, int thread_count) {
  return fmt::format(
      "{}; {:.0f} % stays when k is cut to {}: call, packing and epilogue; {} threads give {:.2f}x "
      "of one",
      light_finding(profile.problem, profile.us, profile.light),
      100 * profile.short_us / profile.us, kShortElements, thread_count,
      profile.one_thread_us / profile.us);
}

}  // namespace thresher
