// SPDX-License-Identifier: Apache-2.0
#include "tank/season/time_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "measure/clock.hpp"
#include "measure/placed_problem.hpp"
#include "measure/statistics.hpp"

namespace thresher {
namespace {

using HostTime = std::chrono::steady_clock;

constexpr std::size_t kCallsMin = 5;
constexpr std::uint64_t kSeed = 1;

// The buffers of one problem, ready to be run again and again.
class Rig {
 public:
  Rig(const Engine& engine, const Problem& problem, const std::string& variant)
      : inputs_(make_inputs(problem, InputFamily::kNatural, kSeed)),
        placed_(engine, problem, inputs_),
        host_outputs_(problem, {}),
        outputs_(engine, host_outputs_),
        plan_(engine.plan(problem, variant)),
        workspace_(engine.workspace(plan_)),
        call_(bind(engine)),
        clock_(measure::make_clock(
            engine, {.surroundings = measure::Surroundings::kBackToBack, .graph = false})) {}

  std::int64_t kernel_count() const { return static_cast<std::int64_t>(plan_.kernels().size()); }

  double median_us(double seconds) {
    const std::vector<measure::Entrant> self{
        {.name = plan_.variant(), .problem = plan_.problem(), .enqueue = [this](std::size_t) {
           call_.enqueue(clock_->stream());
         }}};
    clock_->get_ready(self);
    clock_->run_untimed(0);  // first touch of pages and caches
    std::vector<double> samples_us;
    const HostTime::time_point begin = HostTime::now();
    while (samples_us.size() < kCallsMin ||
           std::chrono::duration<double>(HostTime::now() - begin).count() < seconds) {
      clock_->queue({0});
      samples_us.push_back(clock_->collect_us().front());
    }
    return measure::median(samples_us);
  }

 private:
  Call bind(const Engine& engine) const {
    const std::vector<GroupOperands> groups = placed_.operands(outputs_);
    return engine.bind(plan_, {.groups = groups}, workspace_);
  }

  Inputs inputs_;
  measure::PlacedProblem placed_;
  measure::GuardedOutputs host_outputs_;
  measure::PlacedOutputs outputs_;
  Plan plan_;
  Workspace workspace_;
  Call call_;
  std::unique_ptr<measure::Clock> clock_;
};

Problem with_short_k(Problem problem) {
  for (Group& group : problem.groups) group.k = std::min(group.k, kShortElements);
  return problem;
}

Problem with_few_tokens(Problem problem) {
  for (Group& group : problem.groups) group.m = std::min(group.m, kThinTokens);
  return problem;
}

std::string light_finding(const ProblemProfile& profile) {
  const SpeedOfLight& light = profile.light;
  const double share = light.floor_us() / profile.us;
  // More than all there is: the ceilings were measured while the machine was busy.
  const std::string share_text =
      share > 1 ? "above the speed of light as it was measured, on a busy machine"
                : fmt::format("{:.0f} % of the speed of light", 100 * share);
  return fmt::format("{}: {:.0f} us, {} (memory {:.0f} us, arithmetic {:.0f} us: {} decides)",
                     profile.problem, profile.us, share_text, light.memory_us, light.compute_us,
                     light.memory_us > light.compute_us ? "memory" : "arithmetic");
}

}  // namespace

std::vector<ProblemProfile> profile(const Engine& engine, const Suite& suite,
                                    const std::string& variant, const MachineRates& rates,
                                    double seconds_per_problem) {
  const double seconds = seconds_per_problem / 4;
  const bool has_threads = engine.thread_count() > 1;
  const auto median_us = [&](const Engine& on, const Problem& problem) {
    return Rig(on, problem, variant).median_us(seconds);
  };
  std::vector<ProblemProfile> profiles;
  for (const Problem& problem : suite.problems) {
    Rig whole(engine, problem, variant);
    profiles.push_back({.problem = problem.name,
                        .us = whole.median_us(seconds),
                        .short_us = median_us(engine, with_short_k(problem)),
                        .thin_us = median_us(engine, with_few_tokens(problem)),
                        .thread_count = engine.thread_count(),
                        .kernel_count = whole.kernel_count(),
                        .light = speed_of_light(problem, rates)});
    if (has_threads) {
      profiles.back().one_thread_us = median_us(Engine({.thread_count = 1}), problem);
    }
  }
  return profiles;
}

std::string finding(const ProblemProfile& profile) {
  std::string text = fmt::format(
      "{}; {:.0f} % stays when k is cut to {}: {} and epilogue; {:.0f} % stays with {} tokens per "
      "group: reading and decoding weights",
      light_finding(profile), 100 * profile.short_us / profile.us, kShortElements,
      profile.kernel_count > 0 ? fmt::format("{} kernels, prologue", profile.kernel_count)
                               : "call, packing",
      100 * profile.thin_us / profile.us, kThinTokens);
  if (profile.one_thread_us > 0) {
    text += fmt::format("; {} threads give {:.2f}x of one", profile.thread_count,
                        profile.one_thread_us / profile.us);
  }
  return text;
}

}  // namespace thresher
