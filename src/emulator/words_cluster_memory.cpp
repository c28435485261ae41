// SPDX-License-Identifier: Apache-2.0
// The words by which a thread reaches the shared memory of another block of its cluster.
#include <algorithm>
#include <cstring>

#include "emulator/copy_issue.hpp"
#include "emulator/fault.hpp"
#include "emulator/grid.hpp"
#include "gpu/hw/emulated.hpp"

namespace thresher::gpu::hw {

using emulator::Access;
using emulator::Block;
using emulator::BulkCopy;
using emulator::fault;
using emulator::self;
using emulator::Thread;

namespace {

constexpr u32 kCopyUnit = 16;

// Whether anybody has told the thread that the block is there.
bool knows_of(const Thread& thread, const Block& block) {
  return std::any_of(block.threads.begin(), block.threads.end(),
                     [&](const Thread& other) { return thread.knowledge.seen(other.actor()) > 0; });
}

// The block that a word acts on. `does`: "reads", ...
Block& reached_block(const Thread& thread, ClusterAddress address, const char* does) {
  const emulator::Cluster& cluster = *thread.block->cluster;
  const u32 rank = emulator::rank_of(address);
  if (rank >= static_cast<u32>(cluster.size())) {
    fault(thread, "{} {:#x}, which cluster_address has not given it", does, address);
  }
  Block& block = *cluster.blocks[rank];
  if (block.has_ended()) {
    fault(thread, "{} shared memory of block {}, which has ended", does, block.index);
  }
  if (!knows_of(thread, block)) {
    fault(thread, "{} shared memory of block {}, and nothing tells it that the block has begun",
          does, block.index);
  }
  return block;
}

// Before the block ends, it must know that the thread is done.
void note_visit(const Thread& thread, Block& block) {
  if (thread.block == &block) return;
  emulator::OthersWork& work = block.others_work[thread.actor()];
  work.event = thread.event();
  if (work.what.empty()) {
    work.what = fmt::format("{} is done with its shared memory",
                            block.cluster->name_of_thread(thread.actor(), block.rank));
  }
}

Access access_of(const Thread& thread, const Block& block, const Thread* const* pointer) {
  const bool is_own = thread.block == &block;
  return {.threads = pointer,
          .actor = thread.actor(),
          .event = thread.event(),
          .by = is_own ? "" : " of another block",
          .far = !is_own};
}

// The bytes of one access, once it is allowed.
u8* visited(Thread& thread, ClusterAddress address, u32 bytes, bool write) {
  const char* const does = write ? "writes" : "reads";
  thread.block->grid->pause(thread);
  Block& block = reached_block(thread, address, does);
  const SharedAddress there = emulator::address_in_block(address);
  const std::string misplaced = block.shared.misplaced(there, bytes, bytes);
  if (!misplaced.empty()) {
    fault(thread, "{} {} bytes at shared address {:#x} of block {}, {}", does, bytes, there,
          block.index, misplaced);
  }
  const Thread* const pointer = &thread;
  const Access access = access_of(thread, block, &pointer);
  if (write) {
    block.shared.note_write(there, bytes, access);
  } else {
    block.shared.note_read(there, bytes, access);
  }
  note_visit(thread, block);
  return block.shared.data(there);
}

}  // namespace

void load_cluster_bytes(ClusterAddress address, void* value, u32 bytes) {
  std::memcpy(value, visited(self(), address, bytes, /*write=*/false), bytes);
}

void store_cluster_bytes(ClusterAddress address, const void* value, u32 bytes) {
  std::memcpy(visited(self(), address, bytes, /*write=*/true), value, bytes);
}

void fence_async_cluster(Site site) {
  if (leaves_out(site, "fence_async_cluster")) return;
  Thread& thread = self();
  thread.knowledge.fence_cluster(thread.actor(), thread.event());
  thread.fence_async();
}

void copy_to_cluster(ClusterAddress destination, SharedAddress source, u32 bytes,
                     ClusterAddress barrier) {
  Thread& thread = self();
  Block& own = *thread.block;
  own.grid->pause(thread);
  Block& block = reached_block(thread, destination, "copies to");
  if (&reached_block(thread, barrier, "tells a barrier in") != &block) {
    fault(thread, "copies to block {}, and tells a barrier of another", block.index);
  }
  if (bytes == 0 || bytes % kCopyUnit != 0) {
    fault(thread, "copies {} bytes between blocks, no positive multiple of 16", bytes);
  }
  emulator::check_shared_end(thread, own, source, bytes, kCopyUnit, "from");
  const SharedAddress there = emulator::address_in_block(destination);
  emulator::check_shared_end(thread, block, there, bytes, kCopyUnit, "to");
  const BulkCopy::Target target =
      emulator::issue_to(thread, {block, there, bytes, block, emulator::address_in_block(barrier)});
  const u32 event = target.barrier->phase + 1;
  const Thread* const pointer = &thread;
  own.shared.note_read(source, bytes,
                       {.threads = &pointer,
                        .actor = target.actor,
                        .event = event,
                        .by = " by a copy",
                        .async = true});
  if (&block != &own) {
    own.others_work[target.actor] = {
        event, "copies from its shared memory to another block's are complete"};
  }
  own.grid->start(std::make_shared<BulkCopy>(block, target, [&own, source, bytes](u8* to) {
    std::memcpy(to, own.shared.data(source), bytes);
  }));
}

}  // namespace thresher::gpu::hw
