// SPDX-License-Identifier: Apache-2.0
#include "cli/gpu_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "cli/gpu_problem.hpp"
#include "gpu/engine/state.hpp"
#include "measure/statistics.hpp"
#include "tank/season/time_profile.hpp"

namespace thresher::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kCallsMin = 9;
constexpr std::uint64_t kSeed = 1;

// A problem in device memory, ready to be run again and again.
class GpuRig {
 public:
  GpuRig(const GpuEngine& engine, const Problem& problem, const std::string& variant)
      : device_(engine.state().device),
        inputs_(make_inputs(problem, InputFamily::kNatural, kSeed)),
        operands_(engine, problem, inputs_),
        host_outputs_(problem, {}),
        outputs_(device_, host_outputs_),
        plan_(engine.plan(problem, variant)),
        workspace_(engine.workspace(plan_)),
        call_(engine.bind(plan_, operands_.operands(outputs_), workspace_)) {}

  std::int64_t kernel_count() const { return plan_.kernel_count(); }

  double median_us(double seconds) const {
    const gpu::Stream stream(device_);
    const gpu::Event begin(device_);
    const gpu::Event end(device_);
    call_.enqueue(stream.handle());  // the first one wakes the device up
    stream.synchronize();
    std::vector<double> samples_us;
    const Clock::time_point start = Clock::now();
    while (samples_us.size() < kCallsMin ||
           std::chrono::duration<double>(Clock::now() - start).count() < seconds) {
      begin.record(stream);
      call_.enqueue(stream.handle());
      end.record(stream);
      end.synchronize();
      samples_us.push_back(gpu::microseconds_between(begin, end));
    }
    return referee::median(samples_us);
  }

 private:
  const gpu::Device& device_;
  Inputs inputs_;
  GpuProblem operands_;
  GuardedOutputs host_outputs_;
  DeviceOutputs outputs_;
  GpuPlan plan_;
  GpuWorkspace workspace_;
  GpuCall call_;
};

Problem with_few_tokens(Problem problem) {
  for (Group& group : problem.groups) group.m = std::min(group.m, kThinTokens);
  return problem;
}

}  // namespace

std::vector<GpuProfile> gpu_profile(const GpuEngine& engine, const Suite& suite,
                                    const std::string& variant, const MachineRates& rates,
                                    double seconds_per_problem) {
  const double seconds = seconds_per_problem / 3;
  std::vector<GpuProfile> profiles;
  for (const Problem& problem : suite.problems) {
    const GpuRig whole(engine, problem, variant);
    profiles.push_back(
        {.problem = problem.name,
         .us = whole.median_us(seconds),
         .short_us = GpuRig(engine, with_short_k(problem), variant).median_us(seconds),
         .thin_us = GpuRig(engine, with_few_tokens(problem), variant).median_us(seconds),
         .kernel_count = whole.kernel_count(),
         .light = speed_of_light(problem, rates)});
  }
  return profiles;
}

std::string finding(const GpuProfile& profile) {
  return fmt::format(
      "{}; {:.0f} % stays when k is cut to {}: {} kernels, prologue and epilogue; {:.0f} % stays "
      "with {} tokens per group: reading and decoding weights",
      light_finding(profile.problem, profile.us, profile.light),
      100 * profile.short_us / profile.us, kShortElements, profile.kernel_count,
      100 * profile.thin_us / profile.us, kThinTokens);
}

}  // namespace thresher::cli
