// SPDX-License-Identifier: Apache-2.0
// Bulk copies between global and shared memory, and the fence between ordinary stores and them.
#pragma once

#include "gpu/hw/words.hpp"

namespace thresher::gpu::hw {

// The destination is written as a cluster address; a block's own window is valid as one.
THRESHER_DEVICE void copy_to_shared(SharedAddress destination, const void* source, u32 bytes,
                                    SharedAddress barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(destination),
      "l"(source), "r"(bytes), "r"(barrier)
      : "memory");
}

// What need not stay in the L2 afterwards.
THRESHER_DEVICE void copy_once_to_shared(SharedAddress destination, const void* source, u32 bytes,
                                         SharedAddress barrier) {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(policy));
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1], %2, [%3], %4;" ::"r"(destination),
      "l"(source), "r"(bytes), "r"(barrier), "l"(policy)
      : "memory");
}

// The map lies in the kernel's parameters.
THRESHER_DEVICE void copy_box_to_shared(SharedAddress destination, const TensorMap& map, u32 byte,
                                        u32 row, SharedAddress barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(destination),
      "l"(&map), "r"(byte), "r"(row), "r"(barrier)
      : "memory");
}

THRESHER_DEVICE void copy_to_global(void* destination, SharedAddress source, u32 bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(destination),
               "r"(source), "r"(bytes)
               : "memory");
}

THRESHER_DEVICE void copy_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

template <int kPending>
THRESHER_DEVICE void copy_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

template <int kPending>
THRESHER_DEVICE void copy_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
}

THRESHER_DEVICE void fence_async_global() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}

THRESHER_DEVICE void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

}  // namespace thresher::gpu::hw
