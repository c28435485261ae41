// SPDX-License-Identifier: Apache-2.0
// What the rule of statistics/disturbance.hpp is told: the referee's own reference work, and the
// time that the host took away.
#pragma once

#include <cstdint>

namespace thresher::referee {

// Fixed work of some ten microseconds, where nothing else of ours can serve as the reference.
double reference_spin_ns();

// The time of all cores so far, and what the host took of it, in the kernel's ticks; zeros where
// the kernel does not say.
struct StealCount {
  std::int64_t stolen = 0;
  std::int64_t all = 0;
};
StealCount steal_so_far();
double steal_share(const StealCount& before, const StealCount& after);

}  // namespace thresher::referee
