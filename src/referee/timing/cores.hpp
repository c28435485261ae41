// SPDX-License-Identifier: Apache-2.0
// Which cores the arms of a match are bound to: the same for all of them, so that no arm is luckier
// with its place than another, and those where the least else is going on.
#pragma once

#include <cstdint>
#include <vector>

namespace thresher::referee {

// How busy a core has been so far, in the kernel's ticks.
struct CoreUse {
  int core = 0;
  std::int64_t busy = 0;
};

// Of the cores this process may use; empty where the kernel does not say.
std::vector<CoreUse> core_use();

// The `count` cores that were busy least between two readings, in ascending order. Empty, which
// binds nobody, if there is no choice or nothing is known.
std::vector<int> quietest_cores(const std::vector<CoreUse>& before,
                                const std::vector<CoreUse>& after, int count);

// How many of them nobody else kept busy between two readings that are `ticks` apart; at least one.
// A busy thread that moves from core to core takes one away, not a part of each. 0 where the
// kernel does not say.
int quiet_core_count(const std::vector<CoreUse>& before, const std::vector<CoreUse>& after,
                     double ticks);

// The same for the next half second, in which the caller had better be idle.
int watch_quiet_cores();

}  // namespace thresher::referee
