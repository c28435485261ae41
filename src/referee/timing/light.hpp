// SPDX-License-Identifier: Apache-2.0
// The speed of light as a check: no call can be faster than the machine.
#pragma once

#include <optional>

#include "gemm/speed_of_light.hpp"
#include "referee/fault.hpp"

namespace thresher::referee {

// A time is an accusation when it is below this share of the floor. Ceilings are measured with
// loops of our own on a machine with other guests, and accusing an honest record would be worse
// than missing a cheat that every other check looks at as well.
inline constexpr double kLightShare = 0.5;

// The ceilings of the CPU with so many threads; a process measures them once per thread count.
MachineRates cpu_rates(int thread_count);

class Light {
 public:
  // `cold`: caches are evicted before each call, so that bytes have to come from memory.
  Light(const MachineRates& rates, bool cold) : rates_(rates), cold_(cold) {}

  double floor_ns(const Problem& problem) const;
  std::optional<Fault> check(const Problem& problem, double ns) const;

 private:
  const MachineRates rates_;
  const bool cold_;
};

}  // namespace thresher::referee
