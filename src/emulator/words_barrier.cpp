// SPDX-License-Identifier: Apache-2.0
// The words of mbarriers.
#include "emulator/fault.hpp"
#include "emulator/grid.hpp"
#include "gpu/hw/emulated.hpp"

namespace thresher::gpu::hw {

using emulator::Barrier;
using emulator::fault;
using emulator::self;
using emulator::Thread;
using emulator::Wait;

namespace {

constexpr u32 kArrivalsMax = (1u << 20) - 1;
constexpr long long kBytesMax = (1 << 20) - 1;

void arrive(Thread& thread, emulator::Block& block, SharedAddress address, u32 bytes) {
  const bool is_own = &block == thread.block;
  Barrier& barrier = block.barrier_at(thread, address);
  if (barrier.arrivals_missing == 0) {
    fault(thread, "arrives at the barrier at {:#x}, which has all {} arrivals of phase {}", address,
          barrier.arrivals_per_phase, barrier.phase);
  }
  barrier.bytes_missing += bytes;
  if (barrier.bytes_missing > kBytesMax) {
    fault(thread, "makes the barrier at {:#x} expect {} bytes in phase {}, more than {}", address,
          barrier.bytes_missing, barrier.phase, kBytesMax);
  }
  --barrier.arrivals_missing;
  if (barrier.arrivals_missing == 0 && barrier.bytes_missing < 0) {
    fault(thread, "arrives at the barrier at {:#x}, which got {} bytes more than phase {} expects",
          address, -barrier.bytes_missing, barrier.phase);
  }
  (is_own ? barrier.gathered : barrier.gathered_far).join(thread.knowledge);
  if (!is_own) barrier.remote_arrivals[thread.actor()] = thread.event();
  thread.advance();
  block.grid->complete_phase_if_due(barrier);
}

void arrive_here(SharedAddress address, u32 bytes) {
  Thread& thread = self();
  thread.block->grid->pause(thread);
  arrive(thread, *thread.block, address, bytes);
}

void wait_for(SharedAddress address, u32 parity, bool cluster_wide) {
  Thread& thread = self();
  thread.block->grid->pause(thread);
  note_alone(thread);
  if (parity > 1) fault(thread, "waits for parity {} of the barrier at {:#x}", parity, address);
  Barrier& barrier = thread.block->barrier_at(thread, address);
  if (barrier.passes(parity)) {
    thread.knowledge.join(barrier.released);
    if (cluster_wide) thread.knowledge.join(barrier.released_far);
    return;
  }
  barrier.waiting.push_back(&thread);
  thread.block->grid->wait(thread, {.kind = Wait::Kind::kBarrier,
                                    .barrier = &barrier,
                                    .parity = parity,
                                    .cluster_wide = cluster_wide});
}

}  // namespace

void barrier_init(SharedAddress address, u32 arrivals) {
  Thread& thread = self();
  emulator::Block& block = *thread.block;
  const std::string misplaced = block.shared.misplaced(address, sizeof(u64), sizeof(u64));
  if (!misplaced.empty()) {
    fault(thread, "initialises a barrier at {:#x}, {}", address, misplaced);
  }
  if (arrivals == 0 || arrivals > kArrivalsMax) {
    fault(thread, "initialises the barrier at {:#x} for {} arrivals", address, arrivals);
  }
  if (block.barriers.contains(address)) {
    fault(thread, "initialises the barrier at {:#x} again", address);
  }
  const Thread* const pointer = &thread;
  block.shared.note_barrier(
      address, {.threads = &pointer, .actor = thread.actor(), .event = thread.event()});
  Barrier& barrier = block.barriers[address];
  barrier.address = address;
  barrier.arrivals_per_phase = arrivals;
  barrier.arrivals_missing = arrivals;
  barrier.initialised_by = thread.actor();
  barrier.initialised_in = thread.event();
  barrier.actor = block.new_actor(
      fmt::format("a bulk copy may still be writing: the thread has not seen phase {{}} of the "
                  "barrier at {:#x} complete",
                  address),
      "");
}

void barrier_init_fence(Site site) {
  if (leaves_out(site, "barrier_init_fence")) return;
  Thread& thread = self();
  for (auto& [address, barrier] : thread.block->barriers) {
    if (barrier.initialised_by == thread.actor()) barrier.fenced = true;
  }
  // What the device does here includes a fence of the async proxy.
  thread.fence_async();
}

void barrier_arrive(SharedAddress address, Site site) {
  if (!leaves_out(site, "barrier_arrive")) arrive_here(address, 0);
}

void barrier_arrive_expect(SharedAddress address, u32 bytes, Site site) {
  if (!leaves_out(site, "barrier_arrive_expect")) arrive_here(address, bytes);
}

void barrier_wait(SharedAddress address, u32 parity, Site site) {
  if (!leaves_out(site, "barrier_wait")) wait_for(address, parity, /*cluster_wide=*/false);
}

void barrier_wait_cluster(SharedAddress address, u32 parity, const Site& site) {
  if (!leaves_out(site, "barrier_wait")) wait_for(address, parity, /*cluster_wide=*/true);
}

namespace {

void arrive_there(ClusterAddress barrier, u32 bytes) {
  Thread& thread = self();
  thread.block->grid->pause(thread);
  const emulator::Cluster& cluster = *thread.block->cluster;
  const u32 rank = emulator::rank_of(barrier);
  if (rank >= static_cast<u32>(cluster.size())) {
    fault(thread, "arrives at {:#x}, which cluster_address has not given it", barrier);
  }
  emulator::Block& block = *cluster.blocks[rank];
  if (block.has_ended()) {
    fault(thread, "arrives at a barrier of block {}, which has ended", block.index);
  }
  const SharedAddress address = emulator::address_in_block(barrier);
  Barrier& there = block.barrier_at(thread, address);
  if (!there.fenced) {
    fault(thread, "arrives at the barrier at {:#x} of block {}, which had no barrier_init_fence",
          address, block.index);
  }
  arrive(thread, block, address, bytes);
}

}  // namespace

void barrier_arrive_cluster(ClusterAddress barrier, Site site) {
  if (!leaves_out(site, "barrier_arrive_cluster")) arrive_there(barrier, 0);
}

void barrier_arrive_expect_cluster(ClusterAddress barrier, u32 bytes, Site site) {
  if (!leaves_out(site, "barrier_arrive_expect_cluster")) arrive_there(barrier, bytes);
}

}  // namespace thresher::gpu::hw
