// SPDX-License-Identifier: Apache-2.0
// Clusters as the emulator speaks them: blocks that are resident together, know each other by rank,
// arrive at each other's barriers, and reach each other's shared memory. From Hopper on.
#pragma once

#include "gpu/hw/emulated_site.hpp"
#include "gpu/hw/words.hpp"

namespace thresher::gpu::hw {

void barrier_wait(SharedAddress address, u32 parity, Site site);
void sync_block(Site site);

// The block's place in its cluster, and how many blocks that has. A cluster's blocks follow each
// other in the grid.
int cluster_rank();
int cluster_block_count();

// All threads of the cluster: what they did before they arrived is known to those that have waited.
// Every thread says both, in turn; between them it may do other things.
void cluster_arrive(Site site = Site::here());
void cluster_wait(Site site = Site::here());

// An address of the block of this rank. The block must have begun, and must not have ended when it
// is used.
ClusterAddress cluster_address(SharedAddress address, u32 rank);

// An arrival at a barrier of any block of the cluster. What was done before it, only those learn
// who wait as members of a cluster (barrier_wait<2>): a plain barrier_wait is for what the own
// block's threads, copies and MMAs tell.
void barrier_arrive_cluster(ClusterAddress barrier, Site site = Site::here());
void barrier_arrive_expect_cluster(ClusterAddress barrier, u32 bytes, Site site = Site::here());
void barrier_wait_cluster(SharedAddress address, u32 parity, const Site& site);
// As barrier_wait, for kernels of which kBlocks blocks work together.
template <int kBlocks>
void barrier_wait(SharedAddress address, u32 parity, Site site = Site::here()) {
  if constexpr (kBlocks == 1) return barrier_wait(address, parity, site);
  barrier_wait_cluster(address, parity, site);
}

// Likewise as sync_block: all threads of the cluster.
void sync_cluster(const Site& site);
template <int kBlocks>
void sync_block(Site site = Site::here()) {
  if constexpr (kBlocks == 1) return sync_block(site);
  sync_cluster(site);
}

// As load_shared and store_shared, in any block of the cluster. What its threads do with the same
// bytes must be in order, and it must know that others are done before it ends.
void load_cluster_bytes(ClusterAddress address, void* value, u32 bytes);
void store_cluster_bytes(ClusterAddress address, const void* value, u32 bytes);
template <typename T>
T load_cluster(ClusterAddress address) {
  T value;
  load_cluster_bytes(address, &value, sizeof(T));
  return value;
}
template <typename T>
void store_cluster(ClusterAddress address, T value) {
  store_cluster_bytes(address, &value, sizeof(T));
}

// As fence_async, which is for what a thread stored in its own block's memory, for what it stored
// in any.
void fence_async_cluster(Site site = Site::here());

// A bulk copy from the own shared memory to a block's, whose barrier is told. Until then nobody
// overwrites what is copied, and neither block ends.
void copy_to_cluster(ClusterAddress destination, SharedAddress source, u32 bytes,
                     ClusterAddress barrier);

}  // namespace thresher::gpu::hw
