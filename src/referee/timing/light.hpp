// SPDX-License-Identifier: Apache-2.0
// The speed of light as a check: no call can be faster than the machine.
#pragma once

#include <optional>

#include "gemm/speed_of_light.hpp"
#include "referee/fault.hpp"
#include "thresher/engine.hpp"

namespace thresher::referee {

// A time is an accusation when it is below this share of the floor. Ceilings are measured with
// loops of our own on a machine with other guests, and accusing an honest record would be worse
// than missing a cheat that every other check looks at as well.
inline constexpr double kLightShare = 0.5;

// What a device can do at most: measured once per process, device and thread count.
MachineRates rates_once(const Engine& engine);

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
