// SPDX-License-Identifier: Apache-2.0
#include "emulator/shared_memory.hpp"

#include <fmt/format.h>

#include "emulator/block.hpp"
#include "emulator/fault.hpp"

namespace thresher::emulator {
namespace {

SharedAddress address_of(u32 byte_index) { return kSharedBase + byte_index; }

// The thread of `access` that does not know of `event`, or null.
const Thread* ignorant_thread(const Access& access, Actor actor, u32 event) {
  for (int i = 0; i < access.thread_count; ++i) {
    const Thread* const thread = access.threads[i];
    if (thread->knowledge.seen(actor) < event) return thread;
  }
  return nullptr;
}

}  // namespace

SharedMemory::SharedMemory(u32 bytes) : bytes_(bytes, 0xff), shadow_(bytes) {}

std::string SharedMemory::misplaced(SharedAddress address, u32 bytes, u32 alignment_bytes) const {
  if (address % alignment_bytes != 0)
    return fmt::format("not aligned to {} bytes", alignment_bytes);
  const u64 end = u64{kSharedBase} + bytes_.size();
  if (address < kSharedBase || u64{address} + bytes > end) {
    return fmt::format("outside shared memory ({:#x} to {:#x})", kSharedBase, end);
  }
  return "";
}

void SharedMemory::note_read(SharedAddress address, u32 bytes, const Access& access) {
  shadow_.read(address - kSharedBase, bytes, {.event = access.event, .actor = access.actor},
               [&](u32 byte, const Stamp& stamp) { check_read(byte, stamp, access); });
}

void SharedMemory::note_write(SharedAddress address, u32 bytes, const Access& access) {
  const Writer by_thread = access.far ? Writer::kFarStore : Writer::kStore;
  const Writer writer = access.async ? Writer::kCopy : by_thread;
  write(address, bytes, access, {.event = access.event, .actor = access.actor, .writer = writer});
}

void SharedMemory::note_barrier(SharedAddress address, const Access& access) {
  write(address, sizeof(u64), access,
        {.event = access.event, .actor = access.actor, .writer = Writer::kBarrier});
}

void SharedMemory::write(SharedAddress address, u32 bytes, const Access& access, Stamp stamp) {
  shadow_.write(
      address - kSharedBase, bytes, stamp,
      [&](u32 byte, const Reader& reader) { check_reader(byte, reader, access); },
      [&](u32 byte, const Stamp& before) { check_overwrite(byte, before, access); });
}

void SharedMemory::check_read(u32 byte_index, Stamp stamp, const Access& access) {
  if (stamp.writer == Writer::kNobody) {
    fault(*access.threads[0], "reads shared address {:#x}{}, which nobody has written",
          address_of(byte_index), access.by);
  }
  check_known(byte_index, stamp, access, "reads");
}

void SharedMemory::check_overwrite(u32 byte_index, Stamp stamp, const Access& access) {
  if (stamp.writer != Writer::kNobody) check_known(byte_index, stamp, access, "writes");
}

// An MMA visits hundreds of pieces with one stamp, so the last stamp that passed is remembered.
void SharedMemory::check_known(u32 byte_index, Stamp stamp, const Access& access,
                               const char* verb) {
  if (stamp == stamp_known_ && access.threads == stamp_checked_by_.threads &&
      access.actor == stamp_checked_by_.actor && access.event == stamp_checked_by_.event &&
      access.async == stamp_checked_by_.async) {
    return;
  }
  const SharedAddress address = address_of(byte_index);
  const Block& block = *access.threads[0]->block;
  if (stamp.writer == Writer::kBarrier) {
    fault(*access.threads[0], "{} shared address {:#x}{}, which holds a barrier", verb, address,
          access.by);
  }
  if (const Thread* const thread = ignorant_thread(access, stamp.actor, stamp.event)) {
    fault(*thread, "{} shared address {:#x}{}, which {}", verb, address, access.by,
          block.cluster->describe_write(stamp.actor, stamp.event, block.rank));
  }
  if (access.async) check_fenced(address, stamp, access, verb);
  stamp_known_ = stamp;
  stamp_checked_by_ = access;
}

// What threads stored, they have fenced before copies and MMAs touch it.
void SharedMemory::check_fenced(SharedAddress address, Stamp stamp, const Access& access,
                                const char* verb) {
  const bool far = stamp.writer == Writer::kFarStore;
  if (!far && stamp.writer != Writer::kStore) return;
  for (int i = 0; i < access.thread_count; ++i) {
    const Thread& thread = *access.threads[i];
    const Knowledge& known = thread.knowledge;
    const u32 fenced = far ? known.fenced_cluster(stamp.actor) : known.fenced(stamp.actor);
    if (fenced >= stamp.event) continue;
    const Cluster& cluster = *thread.block->cluster;
    fault(thread, "{} shared address {:#x}{}, but {} stored there without {} before the barrier",
          verb, address, access.by,
          cluster.is_thread(stamp.actor) ? cluster.name_of_thread(stamp.actor, thread.block->rank)
                                         : std::string("a copy of pieces"),
          far ? "fence_async_cluster" : "fence_async");
  }
}

void SharedMemory::check_reader(u32 byte_index, const Reader& reader, const Access& access) const {
  if (const Thread* const thread = ignorant_thread(access, reader.actor, reader.event)) {
    fault(*thread, "writes shared address {:#x}{}, which {}", address_of(byte_index), access.by,
          thread->block->cluster->describe_read(reader.actor, thread->block->rank));
  }
}

}  // namespace thresher::emulator
