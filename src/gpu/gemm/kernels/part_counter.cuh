// SPDX-License-Identifier: Apache-2.0
// How those who compute parts of a tile learn of each other: a counter in the workspace counts
// parts that have arrived in its low half, and those that have been left in the workspace in its
// high half. Each function is for one thread of the part's.
#pragma once

#include "gpu/hw/hw.cuh"

namespace thresher::gpu {

struct PartCounter {
  u32* count;

  // What was found goes to came_last() and wait_for_others().
  THRESHER_DEVICE u32 arrive() const { return hw::atomic_add(count, kArrived); }

  THRESHER_DEVICE static bool came_last(u32 found, u32 part_count) {
    return found % kDelivered == part_count - 1;
  }

  // Behind a barrier of all that stored the part, so that the fence covers what they stored.
  THRESHER_DEVICE void deliver() const {
    hw::fence_device();
    hw::atomic_add(count, kDelivered);
  }

  // By whoever came last, for those that are still storing, or about to: nobody waits for a part
  // that is not as good as computed.
  THRESHER_DEVICE void wait_for_others(u32 found, u32 part_count) const {
    while (found / kDelivered != part_count - 1) found = hw::load_global_coherent(count);
    // Ready for the next launch.
    hw::atomic_add(count, 0u - (part_count * kArrived + (part_count - 1) * kDelivered));
    hw::fence_device();
  }

 private:
  static constexpr u32 kArrived = 1;
  static constexpr u32 kDelivered = 1 << 16;
};

}  // namespace thresher::gpu
