// SPDX-License-Identifier: Apache-2.0
// Bulk copies between global and shared memory, and the fence between ordinary stores and them.
#pragma once

#include "gpu/hw/sm90/ptx_cluster.cuh"
#include "gpu/hw/sm90/tensor_map.hpp"

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

// Of what need not stay in the L2 afterwards.
THRESHER_DEVICE u64 evict_first_policy() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(policy));
  return policy;
}

THRESHER_DEVICE void copy_once_to_shared(SharedAddress destination, const void* source, u32 bytes,
                                         SharedAddress barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1], %2, [%3], %4;" ::"r"(destination),
      "l"(source), "r"(bytes), "r"(barrier), "l"(evict_first_policy())
      : "memory");
}

THRESHER_DEVICE void copy_once_to_blocks(SharedAddress destination, const void* source, u32 bytes,
                                         SharedAddress barrier, u32 blocks) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
      ".L2::cache_hint [%0], [%1], %2, [%3], %4, %5;" ::"r"(destination),
      "l"(source), "r"(bytes), "r"(barrier), "h"(static_cast<u16>(blocks)),
      "l"(evict_first_policy())
      : "memory");
}

// The host wrote it, so the scope is the system's.
THRESHER_DEVICE void tensor_map_fence(const TensorMap* map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.sys [%0], 128;" ::"l"(map) : "memory");
}

template <int kBlocks>
THRESHER_DEVICE void copy_box_to_shared(SharedAddress destination, const TensorMap* map, u32 byte,
                                        u32 row, SharedAddress barrier) {
  if constexpr (kBlocks == 1) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(destination),
        "l"(map), "r"(byte), "r"(row), "r"(barrier), "l"(evict_first_policy())
        : "memory");
  } else {
    const u32 leader = static_cast<u32>(cluster_rank()) & ~1u;
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".cta_group::2.L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(destination),
        "l"(map), "r"(byte), "r"(row), "r"(cluster_address(barrier, leader)),
        "l"(evict_first_policy())
        : "memory");
  }
}

template <int kBlocks>
THRESHER_DEVICE void copy_box_to_blocks(SharedAddress destination, const TensorMap* map, u32 byte,
                                        u32 row, SharedAddress barrier, u32 blocks) {
  if constexpr (kBlocks == 1) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster.L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5, %6;" ::"r"(destination),
        "l"(map), "r"(byte), "r"(row), "r"(barrier), "h"(static_cast<u16>(blocks)),
        "l"(evict_first_policy())
        : "memory");
  } else {
    const u32 leader = static_cast<u32>(cluster_rank()) & ~1u;
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster.cta_group::2.L2::cache_hint "
        "[%0], [%1, {%2, %3}], [%4], %5, %6;" ::"r"(destination),
        "l"(map), "r"(byte), "r"(row), "r"(cluster_address(barrier, leader)),
        "h"(static_cast<u16>(blocks)), "l"(evict_first_policy())
        : "memory");
  }
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
