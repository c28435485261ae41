// SPDX-License-Identifier: Apache-2.0
// Who am I, warps and blocks acting together, registers, dependent launch.
#pragma once

#include "gpu/hw/words.hpp"

namespace thresher::gpu::hw {

THRESHER_DEVICE int thread_index() { return static_cast<int>(threadIdx.x); }
THRESHER_DEVICE int thread_count() { return static_cast<int>(blockDim.x); }
THRESHER_DEVICE int block_index() { return static_cast<int>(blockIdx.x); }
THRESHER_DEVICE int block_count() { return static_cast<int>(gridDim.x); }
THRESHER_DEVICE int warp_index() { return thread_index() / kWarpThreads; }
THRESHER_DEVICE int lane_index() { return thread_index() % kWarpThreads; }

THRESHER_DEVICE void hide(u32& value) { asm volatile("" : "+r"(value)); }

THRESHER_DEVICE void sync_block() { asm volatile("bar.sync 0;" ::: "memory"); }

THRESHER_DEVICE void sync_named(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

THRESHER_DEVICE void arrive_named(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

THRESHER_DEVICE void sync_warp() { asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }

THRESHER_DEVICE u32 shuffle(u32 value, int lane) {
  u32 result;
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;"
               : "=r"(result)
               : "r"(value), "r"(lane));
  return result;
}

THRESHER_DEVICE u32 shuffle_xor(u32 value, int mask) {
  u32 result;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;"
               : "=r"(result)
               : "r"(value), "r"(mask));
  return result;
}

// Bit i: whether lane i says yes.
THRESHER_DEVICE u32 ballot(bool yes) {
  u32 result;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.u32 p, %1, 0;\n"
      "vote.sync.ballot.b32 %0, p, 0xffffffff;\n"
      "}"
      : "=r"(result)
      : "r"(yes ? 1u : 0u));
  return result;
}

THRESHER_DEVICE int count_bits(u32 value) { return __popc(value); }

THRESHER_DEVICE u32 broadcast(u32 value) { return shuffle(value, 0); }
THRESHER_DEVICE int broadcast(int value) {
  return static_cast<int>(shuffle(static_cast<u32>(value), 0));
}

// A value that all lanes have, in a way that tells the compiler so: what depends on it need not
// reckon with lanes that go different ways.
THRESHER_DEVICE u32 uniform(u32 value) {
  u32 result;
  asm volatile("redux.sync.or.b32 %0, %1, 0xffffffff;" : "=r"(result) : "r"(value));
  return result;
}

THRESHER_DEVICE bool elect_one() {
  u32 elected;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "elect.sync _|p, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(elected));
  return elected != 0;
}

template <int kRegisters>
THRESHER_DEVICE void registers_grow() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kRegisters>
THRESHER_DEVICE void registers_shrink() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// Before Hopper kernels of a stream follow one another by themselves.
THRESHER_DEVICE void wait_for_previous_kernel() {
#if THRESHER_PTX_ARCH >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

THRESHER_DEVICE void start_next_kernel() {
#if THRESHER_PTX_ARCH >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace thresher::gpu::hw
