// SPDX-License-Identifier: Apache-2.0
// The words of ordinary memory accesses.
#include <array>
#include <cstring>

#include "emulator/device_memory.hpp"
#include "emulator/fault.hpp"
#include "emulator/grid.hpp"
#include "gpu/hw/emulated.hpp"

namespace thresher::gpu::hw {

using emulator::Access;
using emulator::fault;
using emulator::GlobalWord;
using emulator::self;
using emulator::Thread;

namespace {

void check_shared(const Thread& thread, SharedAddress address, u32 bytes, const char* verb) {
  const std::string misplaced = thread.block->shared.misplaced(address, bytes, bytes);
  if (!misplaced.empty()) {
    fault(thread, "{} {} bytes at shared address {:#x}, {}", verb, bytes, address, misplaced);
  }
}

void check_global(const Thread& thread, const void* address, u32 bytes, bool write) {
  const char* const verb = write ? "writes" : "reads";
  if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0) {
    fault(thread, "{} {} bytes at global address {}, not aligned to them", verb, bytes, address);
  }
  const emulator::DeviceMemory* const memory = thread.block->grid->options().memory;
  if (memory == nullptr) {
    fault(thread, "{} global address {}, but the launch names no device memory", verb, address);
  }
  if (const auto reason = memory->fault(address, bytes, write)) {
    fault(thread, "{} {} bytes at global address {}, {}", verb, bytes, address, *reason);
  }
}

// Follows an access that is allowed.
void note_global(const Thread& thread, const void* address, u32 bytes, GlobalWord word,
                 bool write) {
  emulator::Grid& grid = *thread.block->grid;
  const std::uintptr_t at = grid.options().memory->followed_at(address);
  const emulator::GlobalAccess access{.thread = thread,
                                      .word = word,
                                      .actor = thread.actor(),
                                      .event = thread.event(),
                                      .at = address};
  if (write) return grid.history().note_write(at, bytes, access);
  grid.history().note_read(at, bytes, access);
}

// What a thread that sees a word of memory will know when it says fence_device.
void hear(Thread& thread, const emulator::Publication& publication) {
  thread.to_acquire.join(publication.released);
  thread.knowledge.heard_released.join(publication.released);
  thread.knowledge.heard_written.join(publication.written);
}

emulator::Publication& publication_at(const Thread& thread, const void* address) {
  emulator::Grid& grid = *thread.block->grid;
  return grid.history().publication(grid.options().memory->followed_at(address));
}

void load_strong(Thread& thread, const void* address, void* value, u32 bytes) {
  thread.block->grid->spin(thread);
  check_global(thread, address, bytes, /*write=*/false);
  note_global(thread, address, bytes, GlobalWord::kStrong, /*write=*/false);
  if (bytes == sizeof(u32)) hear(thread, publication_at(thread, address));
  std::memcpy(value, address, bytes);
}

Access ordinary_access(const Thread& thread, const Thread* const* pointer) {
  return {.threads = pointer, .actor = thread.actor(), .event = thread.event()};
}

// Lane 8i + r of the warp names row r of matrix i; every lane holds two neighbouring values of each
// matrix, in row lane / 4.
void store_matrix(SharedAddress row, const std::array<u32, 4>& values, bool transposed,
                  const char* word) {
  Thread& thread = self();
  emulator::Warp& warp = thread.warp();
  const int my_lane = lane_index();
  check_shared(thread, row, 16, "stores a matrix row of");
  warp.matrices_given[static_cast<std::size_t>(my_lane)] = values;
  if (warp.meeting.join(thread, word)) {
    warp.matrices_taken = warp.matrices_given;
    warp.meeting.release();
  }
  // Each lane stores the row it named; what it stores comes from all lanes.
  const auto matrix = static_cast<std::size_t>(my_lane / 8);
  std::array<u16, 8> out{};
  for (int column = 0; column < 8; ++column) {
    const int r = transposed ? column : my_lane % 8;
    const int c = transposed ? my_lane % 8 : column;
    const u32 pair = warp.matrices_taken[static_cast<std::size_t>(4 * r + c / 2)][matrix];
    out[static_cast<std::size_t>(column)] = static_cast<u16>(pair >> (16 * (c % 2)));
  }
  store_shared_bytes(row, out.data(), sizeof(out));
}

}  // namespace

SharedAddress shared_base() { return emulator::kSharedBase; }

void load_shared_bytes(SharedAddress address, void* value, u32 bytes) {
  Thread& thread = self();
  thread.block->grid->pause(thread);
  check_shared(thread, address, bytes, "reads");
  const Thread* const pointer = &thread;
  thread.block->shared.note_read(address, bytes, ordinary_access(thread, &pointer));
  std::memcpy(value, thread.block->shared.data(address), bytes);
}

void store_shared_bytes(SharedAddress address, const void* value, u32 bytes) {
  Thread& thread = self();
  thread.block->grid->pause(thread);
  check_shared(thread, address, bytes, "writes");
  const Thread* const pointer = &thread;
  thread.block->shared.note_write(address, bytes, ordinary_access(thread, &pointer));
  std::memcpy(thread.block->shared.data(address), value, bytes);
}

void store_matrix_x4(SharedAddress row, u32 m0, u32 m1, u32 m2, u32 m3) {
  store_matrix(row, {m0, m1, m2, m3}, /*transposed=*/false, "store_matrix_x4");
}

void store_matrix_x4_transposed(SharedAddress row, u32 m0, u32 m1, u32 m2, u32 m3) {
  store_matrix(row, {m0, m1, m2, m3}, /*transposed=*/true, "store_matrix_x4_transposed");
}

void load_global_bytes(const void* address, void* value, u32 bytes) {
  Thread& thread = self();
  thread.block->grid->pause(thread);
  check_global(thread, address, bytes, /*write=*/false);
  note_global(thread, address, bytes, GlobalWord::kConstant, /*write=*/false);
  std::memcpy(value, address, bytes);
}

void load_global_coherent_bytes(const void* address, void* value, u32 bytes, const Site& site) {
  if (leaves_out(site, "load_global_coherent")) return load_global_bytes(address, value, bytes);
  load_strong(self(), address, value, bytes);
}

u32 load_global_acquire(const u32* address, Site site) {
  const bool relaxed = leaves_out(site, "load_global_acquire");
  Thread& thread = self();
  u32 value = 0;
  load_strong(thread, address, &value, sizeof(value));
  if (!relaxed) {
    thread.knowledge.learn(publication_at(thread, address).released, thread.block->number);
  }
  return value;
}

void store_global_bytes(void* address, const void* value, u32 bytes) {
  Thread& thread = self();
  thread.block->grid->pause(thread);
  check_global(thread, address, bytes, /*write=*/true);
  note_global(thread, address, bytes, GlobalWord::kOrdinary, /*write=*/true);
  std::memcpy(address, value, bytes);
}

u32 atomic_add(u32* address, u32 value, Site site) {
  const bool nothing = leaves_out(site, "atomic_add");
  Thread& thread = self();
  thread.block->grid->spin(thread);
  check_global(thread, address, sizeof(u32), /*write=*/true);
  const u32 before = *address;
  if (nothing) return before;
  note_global(thread, address, sizeof(u32), GlobalWord::kStrong, /*write=*/true);
  emulator::Publication& publication = publication_at(thread, address);
  hear(thread, publication);
  publication.released.join(thread.released);
  publication.written.join(thread.knowledge.views);
  publication.written.add(thread.block->number, thread.knowledge.view());
  thread.advance();
  *address = before + value;
  return before;
}

void fence_device(Site site) {
  if (leaves_out(site, "fence_device")) return;
  Thread& thread = self();
  thread.knowledge.learn(thread.to_acquire, thread.block->number);
  thread.block->fenced_device.join(thread.knowledge.view().seen);
  thread.released = thread.knowledge.views;
  thread.released.add(thread.block->number, thread.knowledge.view());
  thread.advance();
}

}  // namespace thresher::gpu::hw
