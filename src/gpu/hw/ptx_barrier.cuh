// SPDX-License-Identifier: Apache-2.0
// mbarriers: phases that threads and bulk copies complete together.
#pragma once

#include "gpu/hw/words.hpp"

namespace thresher::gpu::hw {

THRESHER_DEVICE void barrier_init(SharedAddress barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Copies act on a barrier through the async proxy, so its initial value needs a proxy fence too.
THRESHER_DEVICE void barrier_init_fence() {
  asm volatile(
      "fence.mbarrier_init.release.cluster;\n"
      "fence.proxy.async.shared::cta;" ::
          : "memory");
}

THRESHER_DEVICE void barrier_arrive(SharedAddress barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

THRESHER_DEVICE void barrier_arrive_expect(SharedAddress barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// try_wait suspends the thread for a time the hardware chooses, so the loop is no busy one.
THRESHER_DEVICE void barrier_wait(SharedAddress barrier, u32 parity) {
  u32 complete = 0;
  while (complete == 0) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(complete)
        : "r"(barrier), "r"(parity)
        : "memory");
  }
}

}  // namespace thresher::gpu::hw
