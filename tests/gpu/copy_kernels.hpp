// SPDX-License-Identifier: Apache-2.0
// Kernels that do nothing but copy, by a tensor map and to both blocks of a cluster: compiled as a
// test (copy_kernels_test.cpp), run where there is a GPU (copies_main.cpp).
#pragma once

namespace thresher::gpu::testing {

inline constexpr unsigned kCopyThreads = 128;
inline constexpr unsigned kCopySharedBytes = 40960;
// Of what both blocks get.
inline constexpr unsigned kSharedCopyBytes = 2048;

inline constexpr const char* kCopyKernels = R"(
#include "gpu/hw/hw.cuh"
using namespace thresher::gpu;

__device__ void put_out(u8* out, u32 bytes) {
  for (u32 i = threadIdx.x; i < bytes; i += blockDim.x) {
    hw::store_global(out + i, hw::load_shared<u8>(hw::shared_base() + i));
  }
}

// A box, by the map of the parameters or by one in global memory.
extern "C" __global__ void boxes(const __grid_constant__ hw::TensorMap map,
                                 const hw::TensorMap* in_memory, u8* out, u32 byte, u32 row,
                                 u32 bytes) {
  const hw::SharedAddress barrier = hw::shared_base() + 32768;
  if (threadIdx.x == 0) {
    hw::barrier_init(barrier, 1);
    hw::barrier_init_fence();
    if (in_memory != nullptr) hw::tensor_map_fence(in_memory);
    hw::barrier_arrive_expect(barrier, bytes);
    hw::copy_box_to_shared<1>(hw::shared_base(), in_memory != nullptr ? in_memory : &map, byte,
                              row, barrier);
  }
  hw::sync_block();
  hw::barrier_wait(barrier, 0);
  put_out(out, bytes);
}

// Each of two blocks brings half of the bytes to both.
extern "C" __global__ void shares(const u8* source, u8* out, u32 bytes) {
  const hw::SharedAddress barrier = hw::shared_base() + 32768;
  const u32 half = bytes / 2;
  const u32 first = half * static_cast<u32>(hw::cluster_rank());
  if (threadIdx.x == 0) {
    hw::barrier_init(barrier, 1);
    hw::barrier_init_fence();
  }
  hw::sync_block<2>();
  if (threadIdx.x == 0) {
    hw::barrier_arrive_expect(barrier, bytes);
    hw::copy_once_to_blocks(hw::shared_base() + first, source + first, half, barrier, 3);
  }
  hw::barrier_wait<2>(barrier, 0);
  put_out(out + bytes * blockIdx.x, bytes);
  hw::sync_block<2>();
}
)";

}  // namespace thresher::gpu::testing
