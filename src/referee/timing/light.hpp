// SPDX-License-Identifier: Apache-2.0
// The speed of light as a check: no call can be faster than the machine.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

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
// Measured now. What rates_once() says from now on is the better of both, rate by rate: nothing but
// the weather makes a ceiling lower.
MachineRates rates_again(const Engine& engine);

class Light {
 public:
  // Measures the ceilings again, here and now.
  using Measure = std::function<MachineRates()>;

  // `cold`: caches are evicted before each call, so that bytes have to come from memory.
  Light(const MachineRates& rates, bool cold, Measure measure)
      : rates_(rates), cold_(cold), measure_(std::move(measure)) {}

  double floor_ns(const Problem& problem) const;

  // A call that looks too fast is no accusation yet: the ceilings were measured earlier, perhaps
  // under load or at a lower clock. They are measured again right after it, several times, and the
  // best counts. How far these measurements are apart is what is not known about the ceiling, and
  // only a time that is impossible with that allowance as well is a fault.
  std::optional<Fault> check(const Problem& problem, double ns);

  // A time of our own engine: it computes what it says, so whatever it took can be done. No ceiling
  // is believed that says otherwise.
  void has_been_reached(const Problem& problem, double ns);

 private:
  double lowest_floor_ns(const Problem& problem) const;

  MachineRates rates_;
  const bool cold_;
  const Measure measure_;
  std::map<std::string, double> reached_ns_;  // by problem
};

inline constexpr int kLightMeasurements = 3;  // next to a suspect call

}  // namespace thresher::referee
