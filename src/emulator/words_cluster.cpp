// SPDX-License-Identifier: Apache-2.0
// The words of clusters: who a block is among its own, and the barrier of all their threads.
#include <utility>

#include "emulator/fault.hpp"
#include "emulator/grid.hpp"
#include "gpu/hw/emulated.hpp"

namespace thresher::gpu::hw {

using emulator::ClusterBarrier;
using emulator::fault;
using emulator::self;
using emulator::Thread;

int cluster_rank() { return self().block->rank; }
int cluster_block_count() { return self().block->grid->options().cluster_blocks; }

ClusterAddress cluster_address(SharedAddress address, u32 rank) {
  const Thread& thread = self();
  if (rank >= static_cast<u32>(cluster_block_count())) {
    fault(thread, "asks for an address in block {} of a cluster of {}", rank,
          cluster_block_count());
  }
  return (rank + 1) << emulator::kRankBit | address;
}

namespace {

void arrive_at_cluster(Thread& thread) {
  emulator::Block& block = *thread.block;
  block.grid->pause(thread);
  thread.warp().aligned.say(thread, "cluster_arrive");
  if (thread.cluster_arrivals != thread.cluster_waits) {
    fault(thread, "says cluster_arrive again before it has said cluster_wait");
  }
  for (const emulator::Block* const other : block.cluster->blocks) {
    if (other->ended_count == 0) continue;
    fault(thread, "says cluster_arrive, but thread {} of block {} has ended",
          other->last_ended_index, other->index);
  }
  ++thread.cluster_arrivals;
  ClusterBarrier& barrier = block.cluster->barrier;
  barrier.gathered.join(thread.knowledge);
  thread.advance();
  if (++barrier.arrived_count < block.cluster->thread_count) return;
  barrier.arrived_count = 0;
  ++barrier.phase;
  barrier.released = std::exchange(barrier.gathered, {});
  for (Thread* const other : std::exchange(barrier.waiting, {})) {
    other->knowledge.join(barrier.released);
    block.grid->wake(*other);
  }
}

void wait_for_cluster(Thread& thread) {
  thread.block->grid->pause(thread);
  thread.warp().aligned.say(thread, "cluster_wait");
  if (thread.cluster_arrivals == thread.cluster_waits) {
    fault(thread, "says cluster_wait and has not said cluster_arrive before");
  }
  ClusterBarrier& barrier = thread.block->cluster->barrier;
  if (barrier.phase >= thread.cluster_arrivals) {
    thread.knowledge.join(barrier.released);
  } else {
    barrier.waiting.push_back(&thread);
    thread.block->grid->wait(thread, {.kind = emulator::Wait::Kind::kCluster});
  }
  ++thread.cluster_waits;
}

}  // namespace

void cluster_arrive(Site site) {
  if (!leaves_out(site, "cluster_arrive")) arrive_at_cluster(self());
}

void cluster_wait(Site site) {
  if (!leaves_out(site, "cluster_wait")) wait_for_cluster(self());
}

void sync_cluster(const Site& site) {
  if (leaves_out(site, "sync_block")) return;
  arrive_at_cluster(self());
  wait_for_cluster(self());
}

}  // namespace thresher::gpu::hw
