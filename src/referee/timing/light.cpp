// SPDX-License-Identifier: Apache-2.0
#include "referee/timing/light.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "backend/device.hpp"

namespace thresher::referee {
namespace {

constexpr double kCalibrationSeconds = 0.6;

}  // namespace

MachineRates rates_once(const Engine& engine) {
  static std::mutex mutex;
  static std::map<std::string, MachineRates> measured;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = measured.try_emplace(
      fmt::format("{} with {} threads", engine.device(), engine.thread_count()));
  if (is_new) found->second = engine.state().measure_ceilings(kCalibrationSeconds).rates;
  return found->second;
}

double Light::floor_ns(const Problem& problem) const {
  const SpeedOfLight light = speed_of_light(problem, rates_);
  return 1e3 * (cold_ ? light.floor_us() : light.compute_us);
}

std::optional<Fault> Light::check(const Problem& problem, double ns) const {
  const double floor = floor_ns(problem);
  if (ns >= kLightShare * floor) return std::nullopt;
  return invalid(check::kSpeedOfLight,
                 fmt::format("problem '{}': {:.1f} us, less than {:.0f} % of the {:.1f} us that "
                             "this machine needs at least",
                             problem.name, ns / 1e3, 100 * kLightShare, floor / 1e3));
}

}  // namespace thresher::referee
