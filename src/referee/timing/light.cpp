// SPDX-License-Identifier: Apache-2.0
#include "referee/timing/light.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "backend/device.hpp"

namespace thresher::referee {
namespace {

constexpr double kCalibrationSeconds = 0.6;

struct Measured {
  std::mutex mutex;
  std::map<std::string, MachineRates> rates;
};

Measured& measured() {
  static Measured all;
  return all;
}

std::string key_of(const Engine& engine) {
  return fmt::format("{} with {} threads", engine.device(), engine.thread_count());
}

MachineRates measure(const Engine& engine) {
  return engine.state().measure_ceilings(kCalibrationSeconds).rates;
}

MachineRates better_of(const MachineRates& a, const MachineRates& b) {
  return {.read_gb_per_s = std::max(a.read_gb_per_s, b.read_gb_per_s),
          .nvfp4_gop_per_s = std::max(a.nvfp4_gop_per_s, b.nvfp4_gop_per_s),
          .fp16_gop_per_s = std::max(a.fp16_gop_per_s, b.fp16_gop_per_s),
          .bf16_gop_per_s = std::max(a.bf16_gop_per_s, b.bf16_gop_per_s)};
}

double floor_of(const Problem& problem, const MachineRates& rates, bool cold) {
  const SpeedOfLight light = speed_of_light(problem, rates);
  return 1e3 * (cold ? light.floor_us() : light.compute_us);
}

}  // namespace

MachineRates rates_once(const Engine& engine) {
  const std::lock_guard lock(measured().mutex);
  const auto [found, is_new] = measured().rates.try_emplace(key_of(engine));
  if (is_new) found->second = measure(engine);
  return found->second;
}

MachineRates rates_again(const Engine& engine) {
  const std::lock_guard lock(measured().mutex);
  const MachineRates now = measure(engine);
  MachineRates& known = measured().rates.try_emplace(key_of(engine), now).first->second;
  known = better_of(known, now);
  return now;
}

double Light::floor_ns(const Problem& problem) const { return floor_of(problem, rates_, cold_); }

void Light::has_been_reached(const Problem& problem, double ns) {
  double& fastest = reached_ns_.try_emplace(problem.name, ns).first->second;
  fastest = std::min(fastest, ns);
}

double Light::lowest_floor_ns(const Problem& problem) const {
  const auto reached = reached_ns_.find(problem.name);
  const double floor = floor_ns(problem);
  return reached == reached_ns_.end() ? floor : std::min(floor, reached->second);
}

std::optional<Fault> Light::check(const Problem& problem, double ns) {
  if (ns >= kLightShare * lowest_floor_ns(problem)) return std::nullopt;
  double highest = lowest_floor_ns(problem);
  for (int i = 0; i < kLightMeasurements; ++i) {
    const MachineRates now = measure_();
    highest = std::max(highest, floor_of(problem, now, cold_));
    rates_ = better_of(rates_, now);
  }
  const double floor = lowest_floor_ns(problem);
  const double apart = highest / floor;
  if (ns * apart >= kLightShare * floor) return std::nullopt;
  return invalid(check::kSpeedOfLight,
                 fmt::format("problem '{}': {:.1f} us, less than {:.0f} % of the {:.1f} us that "
                             "this machine needs at least, as measured again {} times right after "
                             "it ({:.0f} % apart)",
                             problem.name, ns / 1e3, 100 * kLightShare, floor / 1e3,
                             kLightMeasurements, 100 * (apart - 1)));
}

}  // namespace thresher::referee
