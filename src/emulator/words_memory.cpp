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

void load_global_bytes(const void* address, void* value, u32 bytes, bool coherent) {
  Thread& thread = self();
  if (coherent) {
    thread.block->grid->spin(thread);
  } else {
    thread.block->grid->pause(thread);
  }
  check_global(thread, address, bytes, /*write=*/false);
  std::memcpy(value, address, bytes);
}

void store_global_bytes(void* address, const void* value, u32 bytes) {
  Thread& thread = self();
  thread.block->grid->pause(thread);
  check_global(thread, address, bytes, /*write=*/true);
  std::memcpy(address, value, bytes);
}

u32 atomic_add(u32* address, u32 value) {
  Thread& thread = self();
  thread.block->grid->spin(thread);
  check_global(thread, address, sizeof(u32), /*write=*/true);
  const u32 before = *address;
  *address = before + value;
  return before;
}

void fence_device() {}

}  // namespace thresher::gpu::hw
