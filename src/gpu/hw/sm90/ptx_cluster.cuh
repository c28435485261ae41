// SPDX-License-Identifier: Apache-2.0
// Clusters in PTX.
#pragma once

#include "gpu/hw/ptx_barrier.cuh"
#include "gpu/hw/ptx_threads.cuh"
#include "gpu/hw/words.hpp"

namespace thresher::gpu::hw {

// Not volatile: it is the same wherever it is asked for.
THRESHER_DEVICE int cluster_rank() {
  u32 rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return static_cast<int>(rank);
}

THRESHER_DEVICE int cluster_block_count() {
  u32 count;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
  return static_cast<int>(count);
}

THRESHER_DEVICE void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

THRESHER_DEVICE void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

template <int kBlocks>
THRESHER_DEVICE void sync_block() {
  if constexpr (kBlocks == 1) return sync_block();
  cluster_arrive();
  cluster_wait();
}

THRESHER_DEVICE ClusterAddress cluster_address(SharedAddress address, u32 rank) {
  ClusterAddress result;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(result) : "r"(address), "r"(rank));
  return result;
}

THRESHER_DEVICE void barrier_arrive_cluster(ClusterAddress barrier) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(barrier)
               : "memory");
}

THRESHER_DEVICE void barrier_arrive_expect_cluster(ClusterAddress barrier, u32 bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(barrier),
      "r"(bytes)
      : "memory");
}

template <int kBlocks>
THRESHER_DEVICE void barrier_wait(SharedAddress barrier, u32 parity) {
  if constexpr (kBlocks == 1) return barrier_wait(barrier, parity);
  u32 complete = 0;
  while (complete == 0) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(complete)
        : "r"(barrier), "r"(parity)
        : "memory");
  }
}

template <typename T>
THRESHER_DEVICE T load_cluster(ClusterAddress address) = delete;
template <typename T>
THRESHER_DEVICE void store_cluster(ClusterAddress address, T value) = delete;

#define THRESHER_CLUSTER_WORDS(T, width, constraint)                                        \
  template <>                                                                               \
  THRESHER_DEVICE T load_cluster<T>(ClusterAddress address) {                               \
    T value;                                                                                \
    asm volatile("ld.shared::cluster." width " %0, [%1];"                                   \
                 : "=" constraint(value)                                                    \
                 : "r"(address)                                                             \
                 : "memory");                                                               \
    return value;                                                                           \
  }                                                                                         \
  template <>                                                                               \
  THRESHER_DEVICE void store_cluster<T>(ClusterAddress address, T value) {                  \
    asm volatile("st.shared::cluster." width " [%0], %1;" ::"r"(address), constraint(value) \
                 : "memory");                                                               \
  }
THRESHER_CLUSTER_WORDS(u32, "u32", "r")
THRESHER_CLUSTER_WORDS(u64, "u64", "l")
THRESHER_CLUSTER_WORDS(float, "f32", "f")
#undef THRESHER_CLUSTER_WORDS

template <>
THRESHER_DEVICE U32x4 load_cluster<U32x4>(ClusterAddress address) {
  U32x4 value;
  asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "r"(address)
               : "memory");
  return value;
}

template <>
THRESHER_DEVICE void store_cluster<U32x4>(ClusterAddress address, U32x4 value) {
  asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(value.x),
               "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}

THRESHER_DEVICE void fence_async_cluster() {
  asm volatile("fence.proxy.async.shared::cluster;" ::: "memory");
}

THRESHER_DEVICE void copy_to_cluster(ClusterAddress destination, SharedAddress source, u32 bytes,
                                     ClusterAddress barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
      "[%0], [%1], %2, [%3];" ::"r"(destination),
      "r"(source), "r"(bytes), "r"(barrier)
      : "memory");
}

}  // namespace thresher::gpu::hw
