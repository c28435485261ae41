// SPDX-License-Identifier: Apache-2.0
#include "emulator/copy_issue.hpp"

#include "emulator/device_memory.hpp"
#include "emulator/fault.hpp"
#include "emulator/grid.hpp"

namespace thresher::emulator {
namespace {

constexpr u32 kGlobalAlignment = 16;

std::string of_another(const Thread& thread, const Block& block) {
  return thread.block == &block ? "" : fmt::format(" of block {}", block.index);
}

constexpr const char* kStillReading =
    "a bulk copy to another block may still be reading: nothing tells the thread that its barrier "
    "has counted it";

// The event that stands for the copy: its barrier's, or, of a block that did not issue it, one that
// only waits of the cluster's scope tell of.
Actor event_actor(const Thread& thread, Block& told, Barrier& barrier) {
  const u32 event = barrier.phase + 1;
  if (thread.block == &told) {
    barrier.last_copy_event = event;
    return barrier.actor;
  }
  if (barrier.far_copy_actor == 0) {
    barrier.far_copy_actor = told.new_actor(
        fmt::format("a bulk copy that another block issued may still be writing: the thread has "
                    "not seen phase {{}} of the barrier at {:#x} complete as one of the cluster",
                    barrier.address),
        kStillReading);
  }
  barrier.last_far_copy_event = event;
  return barrier.far_copy_actor;
}

}  // namespace

void check_shared_end(const Thread& thread, const Block& block, SharedAddress shared, u32 bytes,
                      u32 alignment, const char* direction) {
  const std::string misplaced = block.shared.misplaced(shared, bytes, alignment);
  if (misplaced.empty()) return;
  fault(thread, "copies {} bytes {} global memory at shared address {:#x}{}, {}", bytes, direction,
        shared, of_another(thread, block), misplaced);
}

void check_global_end(const Thread& thread, const void* global, u32 bytes, bool write) {
  const char* const direction = write ? "to" : "from";
  if (reinterpret_cast<std::uintptr_t>(global) % kGlobalAlignment != 0) {
    fault(thread, "copies {} bytes {} global address {}, not aligned to 16", bytes, direction,
          global);
  }
  const DeviceMemory* const memory = thread.block->grid->options().memory;
  if (memory == nullptr) {
    fault(thread, "copies {} global address {}, but the launch names no device memory", direction,
          global);
  }
  if (const auto reason = memory->fault(global, bytes, write)) {
    fault(thread, "copies {} bytes {} global address {}, {}", bytes, direction, global, *reason);
  }
}

BulkCopy::Target issue_to(Thread& thread, const CopyPlace& place) {
  for (const Block* const block : {&place.block, &place.told}) {
    if (!block->has_ended()) continue;
    fault(thread, "starts a copy to block {}, which has ended", block->index);
  }
  Barrier& barrier = place.told.barrier_at(thread, place.barrier);
  if (!barrier.fenced) {
    fault(thread, "starts a copy on the barrier at {:#x}{}, which had no barrier_init_fence",
          place.barrier, of_another(thread, place.told));
  }
  const Actor actor = event_actor(thread, place.told, barrier);
  const u32 event = barrier.phase + 1;
  const Thread* const pointer = &thread;
  place.block.shared.note_write(
      place.destination, place.bytes,
      {.threads = &pointer,
       .actor = actor,
       .event = event,
       .by = thread.block == &place.block ? " by a copy" : " of another block by a copy",
       .async = true});
  if (&place.block != &place.told) {
    place.block.others_work[actor] = {
        event, "copies to its shared memory, which another block's barrier counts, are complete"};
  }
  return {.thread = &thread,
          .destination = place.destination,
          .bytes = place.bytes,
          .barrier = &barrier,
          .actor = actor};
}

void note_source(const BulkCopy::Target& target, const void* source, u32 bytes) {
  Grid& grid = *target.thread->block->grid;
  grid.history().note_read(grid.options().memory->followed_at(source), bytes,
                           {.thread = *target.thread,
                            .word = GlobalWord::kCopy,
                            .actor = target.actor,
                            .event = target.barrier->phase + 1,
                            .at = source});
}

}  // namespace thresher::emulator
