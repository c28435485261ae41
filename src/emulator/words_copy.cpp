// SPDX-License-Identifier: Apache-2.0
// The words of bulk copies and of the fence before them.
#include <algorithm>
#include <cstring>

#include "emulator/copy_issue.hpp"
#include "emulator/device_memory.hpp"
#include "emulator/fault.hpp"
#include "emulator/grid.hpp"
#include "gpu/hw/emulated.hpp"

namespace thresher::gpu::hw {

using emulator::Actor;
using emulator::Block;
using emulator::BulkCopy;
using emulator::fault;
using emulator::self;
using emulator::Thread;

namespace {

constexpr u32 kCopyAlignment = 16;

void check_copy(const Thread& thread, SharedAddress shared, const void* global, u32 bytes,
                bool write) {
  const char* const direction = write ? "to" : "from";
  if (bytes == 0 || bytes % kCopyAlignment != 0) {
    fault(thread, "copies {} bytes {} global memory, no positive multiple of 16", bytes, direction);
  }
  emulator::check_shared_end(thread, *thread.block, shared, bytes, kCopyAlignment, direction);
  emulator::check_global_end(thread, global, bytes, write);
}

emulator::GlobalAccess copy_access(const Thread& thread, Actor actor, u32 event, const void* at) {
  return {.thread = thread,
          .word = emulator::GlobalWord::kCopy,
          .actor = actor,
          .event = event,
          .at = at};
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
  Block& block = *thread.block;
  const BulkCopy::Target target =
      emulator::issue_to(thread, {block, destination, bytes, block, barrier_address});
  emulator::note_source(target, source, bytes);
  block.grid->start(std::make_shared<BulkCopy>(
      block, target, [source, bytes](u8* to) { std::memcpy(to, source, bytes); }));
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
