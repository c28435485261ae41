// SPDX-License-Identifier: Apache-2.0
// The words of bulk copies and of the fence before them.
#include <algorithm>
#include <cstring>

#include "emulator/device_memory.hpp"
#include "emulator/fault.hpp"
#include "emulator/grid.hpp"
#include "gpu/hw/emulated.hpp"

namespace thresher::gpu::hw {

using emulator::Actor;
using emulator::Barrier;
using emulator::fault;
using emulator::self;
using emulator::Thread;

namespace {

constexpr u32 kCopyAlignment = 16;
// The swizzle counts rows by the bits of their address.
constexpr u32 kBoxAlignment = 8 * kBoxRowBytes;
constexpr u32 kBoxRowsMax = 256;

void check_shared_end(const Thread& thread, SharedAddress shared, u32 bytes, u32 alignment,
                      const char* direction) {
  const std::string misplaced = thread.block->shared.misplaced(shared, bytes, alignment);
  if (misplaced.empty()) return;
  fault(thread, "copies {} bytes {} global memory at shared address {:#x}, {}", bytes, direction,
        shared, misplaced);
}

void check_global_end(const Thread& thread, const void* global, u32 bytes, bool write) {
  const char* const direction = write ? "to" : "from";
  if (reinterpret_cast<std::uintptr_t>(global) % kCopyAlignment != 0) {
    fault(thread, "copies {} bytes {} global address {}, not aligned to 16", bytes, direction,
          global);
  }
  const emulator::DeviceMemory* const memory = thread.block->grid->options().memory;
  if (memory == nullptr) {
    fault(thread, "copies {} global address {}, but the launch names no device memory", direction,
          global);
  }
  if (const auto reason = memory->fault(global, bytes, write)) {
    fault(thread, "copies {} bytes {} global address {}, {}", bytes, direction, global, *reason);
  }
}

void check_copy(const Thread& thread, SharedAddress shared, const void* global, u32 bytes,
                bool write) {
  const char* const direction = write ? "to" : "from";
  if (bytes == 0 || bytes % kCopyAlignment != 0) {
    fault(thread, "copies {} bytes {} global memory, no positive multiple of 16", bytes, direction);
  }
  check_shared_end(thread, shared, bytes, kCopyAlignment, direction);
  check_global_end(thread, global, bytes, write);
}

emulator::GlobalAccess copy_access(const Thread& thread, Actor actor, u32 event, const void* at) {
  return {.thread = thread,
          .word = emulator::GlobalWord::kCopy,
          .actor = actor,
          .event = event,
          .at = at};
}

// What a copy into shared memory does to it and to its barrier.
emulator::BulkCopy::Target target_at(Thread& thread, SharedAddress destination, u32 bytes,
                                     SharedAddress barrier_address) {
  emulator::Block& block = *thread.block;
  Barrier& barrier = block.barrier_at(thread, barrier_address);
  if (!barrier.fenced) {
    fault(thread, "starts a copy on the barrier at {:#x}, which had no barrier_init_fence",
          barrier_address);
  }
  const Thread* const pointer = &thread;
  block.shared.note_write(destination, bytes,
                          {.threads = &pointer,
                           .actor = barrier.actor,
                           .event = barrier.phase + 1,
                           .by = " by a copy",
                           .async = true});
  barrier.last_copy_event = barrier.phase + 1;
  return {.thread = &thread, .destination = destination, .bytes = bytes, .barrier = &barrier};
}

void note_source(const emulator::BulkCopy::Target& target, const void* source, u32 bytes) {
  emulator::Grid& grid = *target.thread->block->grid;
  const Barrier& barrier = *target.barrier;
  grid.history().note_read(grid.options().memory->followed_at(source), bytes,
                           copy_access(*target.thread, barrier.actor, barrier.phase + 1, source));
}

// As a driver checks it when it makes the map, and the device when it copies.
void check_box(const Thread& thread, const emulator::Box& box) {
  const MatrixExtents& matrix = box.matrix;
  if (matrix.box_rows == 0 || matrix.box_rows % 8 != 0 || matrix.box_rows > kBoxRowsMax) {
    fault(thread, "copies a box of {} rows, no multiple of 8 from 8 to 256", matrix.box_rows);
  }
  if (matrix.row_bytes == 0 || matrix.row_bytes % kCopyAlignment != 0) {
    fault(thread, "copies a box of a matrix with rows of {} bytes, no positive multiple of 16",
          matrix.row_bytes);
  }
}

// The last group that is complete when all but `pending` of those committed are.
u32 last_complete(u32 committed, int pending) {
  return committed - std::min(committed, static_cast<u32>(pending));
}

}  // namespace

void copy_to_shared(SharedAddress destination, const void* source, u32 bytes,
                    SharedAddress barrier_address) {
  Thread& thread = self();
  thread.block->grid->pause(thread);
  check_copy(thread, destination, source, bytes, /*write=*/false);
  const emulator::BulkCopy::Target target = target_at(thread, destination, bytes, barrier_address);
  note_source(target, source, bytes);
  thread.block->grid->start(
      std::make_shared<emulator::CopyToShared>(*thread.block, target, source));
}

// The extents are the map: 16 words hold them.
TensorMap tensor_map(const MatrixExtents& extents) {
  static_assert(sizeof(MatrixExtents) <= sizeof(TensorMap));
  TensorMap map;
  std::memcpy(map.words, &extents, sizeof extents);
  return map;
}

static MatrixExtents extents_of(const TensorMap& map) {
  MatrixExtents extents;
  std::memcpy(static_cast<void*>(&extents), map.words, sizeof extents);
  return extents;
}

void copy_box_to_shared(SharedAddress destination, const TensorMap& map, u32 byte, u32 row,
                        SharedAddress barrier_address) {
  Thread& thread = self();
  thread.block->grid->pause(thread);
  emulator::Box box{.matrix = extents_of(map), .row = row, .byte = byte};
  check_box(thread, box);
  check_shared_end(thread, destination, box.bytes(), kBoxAlignment, "from");
  const emulator::BulkCopy::Target target =
      target_at(thread, destination, box.bytes(), barrier_address);
  for (u32 r = 0; box.bytes_there() > 0 && r < box.rows_there(); ++r) {
    check_global_end(thread, box.row_at(r), box.bytes_there(), /*write=*/false);
    note_source(target, box.row_at(r), box.bytes_there());
  }
  thread.block->grid->start(std::make_shared<emulator::CopyBox>(*thread.block, target, box));
}

void copy_to_global(void* destination, SharedAddress source, u32 bytes) {
  Thread& thread = self();
  emulator::Block& block = *thread.block;
  block.grid->pause(thread);
  check_copy(thread, source, destination, bytes, /*write=*/true);
  if (thread.copy_actor == 0) {
    thread.copy_actor = block.new_actor(
        "", fmt::format("a bulk copy of thread {} may still be reading: nothing tells of its "
                        "copy_wait_read",
                        thread.index));
    thread.arrival_actor = block.new_actor("", "");
  }
  const u32 group = thread.copy_groups_committed + 1;
  const Thread* const pointer = &thread;
  block.shared.note_read(source, bytes,
                         {.threads = &pointer,
                          .actor = thread.copy_actor,
                          .event = group,
                          .by = " by a copy",
                          .async = true});
  block.grid->history().note_write(block.grid->options().memory->followed_at(destination), bytes,
                                   copy_access(thread, thread.arrival_actor, group, destination));
  auto copy = std::make_shared<emulator::CopyToGlobal>(block, destination, source, bytes, group);
  thread.copies.push_back(copy);
  block.grid->start(std::move(copy));
}

void copy_commit(Site site) {
  if (!leaves_out(site, "copy_commit")) ++self().copy_groups_committed;
}

void copy_wait_groups(int pending, bool read_only, const Site& site) {
  if (leaves_out(site, read_only ? "copy_wait_read" : "copy_wait")) return;
  Thread& thread = self();
  thread.block->grid->pause(thread);
  const u32 last = last_complete(thread.copy_groups_committed, pending);
  for (const auto& copy : thread.copies) {
    if (copy->group() > last) break;
    while (read_only ? !copy->has_left() : !copy->done()) copy->advance();
  }
  // A group that has left shared memory is still waited for by a later copy_wait.
  while (!thread.copies.empty() && thread.copies.front()->group() <= last &&
         thread.copies.front()->done()) {
    thread.copies.pop_front();
  }
  thread.copy_groups_waited = std::max(thread.copy_groups_waited, last);
  if (thread.copy_actor == 0) return;
  thread.knowledge.see(thread.copy_actor, last);
  if (!read_only) thread.knowledge.see(thread.arrival_actor, last);
}

void fence_async(Site site) {
  if (!leaves_out(site, "fence_async")) self().fence_async();
}

void fence_async_global(Site site) {
  if (leaves_out(site, "fence_async_global")) return;
  Thread& thread = self();
  thread.knowledge.fence_global(thread.actor(), thread.event());
  thread.advance();
  thread.known_to_copies = thread.knowledge;
}

}  // namespace thresher::gpu::hw
