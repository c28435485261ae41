// SPDX-License-Identifier: Apache-2.0
#include "referee/timing/light.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "cpu/calibrate.hpp"

namespace thresher::referee {
namespace {

constexpr double kCalibrationSeconds = 0.6;

MachineRates measure(int thread_count) {
  const cpu::Isa isa = cpu::runnable_isas().back();
  return cpu::machine_rates(isa, cpu::measure_ceilings(isa, thread_count, kCalibrationSeconds));
}

}  // namespace

MachineRates cpu_rates(int thread_count) {
  static std::mutex mutex;
  static std::map<int, MachineRates> measured;
  const std::lock_guard lock(mutex);
  const auto found = measured.find(thread_count);
  if (found != measured.end()) return found->second;
  return measured.emplace(thread_count, measure(thread_count)).first->second;
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
