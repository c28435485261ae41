// SPDX-License-Identifier: Apache-2.0
// The vocabulary as the emulator speaks it, and the place where every word's contract is written.
// The bodies are in src/emulator/; a fault a word mentions is thrown as Error from
// emulator::launch.
//
// Blocks and grids have one dimension. "Together" means: all threads of the warp (or warpgroup: 128
// threads, four warps) must say the word, in the same order, with no thread of it gone.
#pragma once

#include <bit>
#include <concepts>

#include "gpu/hw/emulated_pairs.hpp"
#include "gpu/hw/emulated_site.hpp"
#include "gpu/hw/emulated_types.hpp"
#include "gpu/hw/sm100/emulated_pair.hpp"
#include "gpu/hw/sm100/emulated_tensor.hpp"
#include "gpu/hw/sm80/emulated_mma.hpp"
#include "gpu/hw/sm90/emulated_cluster.hpp"
#include "gpu/hw/sm90/emulated_copy.hpp"
#include "gpu/hw/sm90/emulated_mma.hpp"
#include "gpu/hw/words.hpp"

namespace thresher::gpu::hw {

// Who a thread is.
int thread_index();
int thread_count();
int block_index();
int block_count();
inline int warp_index() { return thread_index() / kWarpThreads; }
inline int lane_index() { return thread_index() % kWarpThreads; }

// Every thread of the block together; a thread that has ended never arrives, which is a fault.
void sync_block(Site site = Site::here());
// Barriers 1 to 15 (0 is sync_block's). The last of `threads` threads, a multiple of 32, releases
// those that sync; arrive does not wait. All callers of one round must name the same count.
void sync_named(int id, int threads, Site site = Site::here());
void arrive_named(int id, int threads, Site site = Site::here());
// The rest are said by a warp together. They order its threads' shared accesses like barriers do
// only in the case of sync_warp.
void sync_warp(Site site = Site::here());
u32 shuffle(u32 value, int lane);
u32 shuffle_xor(u32 value, int mask);
u32 ballot(bool yes);  // bit i: whether lane i says yes
inline int count_bits(u32 value) { return std::popcount(value); }
u32 broadcast(u32 value);  // lane 0's
int broadcast(int value);
u32 uniform(u32 value);  // which all lanes have
bool elect_one();  // true in one lane, always the same one; which one is the hardware's choice

// Hides a value from the compiler, which then takes it for a new one that it knows nothing of: it
// neither works it out a second time, nor beforehand what follows from it. Nothing to the emulator.
inline void hide(u32&) {}

// What one access carries; its address is a multiple of its size.
template <typename T>
concept MemoryType =
    std::same_as<T, u8> || std::same_as<T, u16> || std::same_as<T, u32> || std::same_as<T, u64> ||
    std::same_as<T, float> || std::same_as<T, U32x2> || std::same_as<T, U32x4>;

// Shared memory.
void load_shared_bytes(SharedAddress address, void* value, u32 bytes);
void store_shared_bytes(SharedAddress address, const void* value, u32 bytes);

// Dynamic shared memory, aligned to 1024 bytes. Its contents are undefined until written.
SharedAddress shared_base();

template <MemoryType T>
T load_shared(SharedAddress address) {
  T value;
  load_shared_bytes(address, &value, sizeof(T));
  return value;
}

template <MemoryType T>
void store_shared(SharedAddress address, T value) {
  store_shared_bytes(address, &value, sizeof(T));
}

// A warp together stores four 8 x 8 matrices of 16-bit values. Lane 8*i + r gives the address of
// row r of matrix i (16 bytes, aligned); register mi holds, in lane l, columns 2*(l%4) and the next
// of row l/4. Transposed: rows and columns change places.
void store_matrix_x4(SharedAddress row, u32 m0, u32 m1, u32 m2, u32 m3);
void store_matrix_x4_transposed(SharedAddress row, u32 m0, u32 m1, u32 m2, u32 m3);

// Global memory.
void load_global_bytes(const void* address, void* value, u32 bytes);
void load_global_coherent_bytes(const void* address, void* value, u32 bytes, const Site& site);
void store_global_bytes(void* address, const void* value, u32 bytes);

// For what no thread of the launch writes.
template <MemoryType T>
T load_global(const T* address) {
  T value;
  load_global_bytes(address, &value, sizeof(T));
  return value;
}

// Sees what other blocks wrote; for flags and partial sums.
template <MemoryType T>
T load_global_coherent(const T* address, Site site = Site::here()) {
  T value;
  load_global_coherent_bytes(address, &value, sizeof(T), site);
  return value;
}

// The same for a flag: what was published by it is known from here on.
u32 load_global_acquire(const u32* address, Site site = Site::here());

template <MemoryType T>
void store_global(T* address, T value) {
  store_global_bytes(address, &value, sizeof(T));
}

// Has the line of an address brought to the L2, which the emulator has none of.
inline void prefetch(const void*) {}

// Returns the value before; relaxed, device-wide. What the thread knew at its last fence_device
// before it, its own stores and those it was told of by barriers, it publishes; what others have
// published by the same word is known after the next fence_device.
u32 atomic_add(u32* address, u32 value, Site site = Site::here());
void fence_device(Site site = Site::here());

// An mbarrier is 8 aligned bytes of shared memory. A phase completes when `arrivals` arrivals and
// all expected bytes are in; the next one begins by itself. Phases alternate in parity, starting
// with 0. barrier_wait returns once the phase of that parity is complete; of a fresh barrier,
// parity 1 counts as complete.
void barrier_init(SharedAddress address, u32 arrivals);
// By the initialising thread, before the block's first use of the barrier (and before sync_block).
void barrier_init_fence(Site site = Site::here());
void barrier_arrive(SharedAddress address, Site site = Site::here());
void barrier_arrive_expect(SharedAddress address, u32 bytes, Site site = Site::here());
void barrier_wait(SharedAddress address, u32 parity, Site site = Site::here());

// Bulk copies are asynchronous; their addresses and sizes are multiples of 16 bytes.
void copy_to_shared(SharedAddress destination, const void* source, u32 bytes,
                    SharedAddress barrier);
// The same for what need not stay in the L2 afterwards.
inline void copy_once_to_shared(SharedAddress destination, const void* source, u32 bytes,
                                SharedAddress barrier) {
  copy_to_shared(destination, source, bytes, barrier);
}
void copy_to_global(void* destination, SharedAddress source, u32 bytes);
// Copies to global memory form groups per thread. wait: all but the last kPending groups have
// arrived; wait_read: have at least left shared memory, which may then be written again.
void copy_commit(Site site = Site::here());
void copy_wait_groups(int pending, bool read_only, const Site& site);
template <int kPending>
void copy_wait_read(Site site = Site::here()) {
  copy_wait_groups(kPending, /*read_only=*/true, site);
}
template <int kPending>
void copy_wait(Site site = Site::here()) {
  copy_wait_groups(kPending, /*read_only=*/false, site);
}

// Makes the thread's ordinary shared stores visible to copies and MMAs. Said by the thread that
// stored, before the barrier behind which the copy or MMA is issued.
void fence_async(Site site = Site::here());
// The same for global memory and copies from it: said by the thread that stored, before what it
// stored is published, and by the thread that copies, after it has learnt of it. What earlier
// launches wrote needs neither.
void fence_async_global(Site site = Site::here());

// Registers move between warpgroups: a warpgroup says these together. Growing waits until the
// block's pool has enough registers.
void registers_change(int registers, bool grow);
template <int kRegisters>
void registers_grow() {
  registers_change(kRegisters, /*grow=*/true);
}
template <int kRegisters>
void registers_shrink() {
  registers_change(kRegisters, /*grow=*/false);
}

// Dependent launch. A launch may begin when every block of the one before has said
// start_next_kernel, in one of its threads, or has ended; it sees what that one wrote only after
// wait_for_previous_kernel, and what a block did before it said start_next_kernel only if that was
// fenced (fence_device). The emulator runs launches one after the other all the same.
void wait_for_previous_kernel(Site site = Site::here());
void start_next_kernel(Site site = Site::here());

}  // namespace thresher::gpu::hw
