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

}  // namespace thresher::referee
