// SPDX-License-Identifier: Apache-2.0
// Kernels that do nothing but copy, by a tensor map, to both blocks of a cluster and between them:
// compiled as a test (copy_kernels_test.cpp), run where there is a GPU (copies_main.cpp).
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

// Each of two blocks brings a box of its own rows to both.
extern "C" __global__ void shared_boxes(const __grid_constant__ hw::TensorMap map, u8* out,
                                        u32 bytes) {
  const hw::SharedAddress barrier = hw::shared_base() + 32768;
  const u32 rank = static_cast<u32>(hw::cluster_rank());
  if (threadIdx.x == 0) {
    hw::barrier_init(barrier, 1);
    hw::barrier_init_fence();
  }
  hw::sync_block<2>();
  if (threadIdx.x == 0) {
    hw::barrier_arrive_expect(barrier, 2 * bytes);
    hw::copy_box_to_blocks<1>(hw::shared_base() + rank * bytes, &map, 0, 16 * rank, barrier, 3);
  }
  hw::barrier_wait<2>(barrier, 0);
  put_out(out + 2 * bytes * blockIdx.x, 2 * bytes);
  hw::sync_block<2>();
}

// Bytes go to the other block by stores, from there on by a bulk copy to where they are read from
// the block that has them.
extern "C" __global__ void exchange(const u8* source, u8* out, u32 bytes) {
  const hw::SharedAddress barrier = hw::shared_base() + 32768;
  const hw::SharedAddress copied = hw::shared_base() + bytes;
  const u32 other = static_cast<u32>(hw::cluster_rank()) ^ 1;
  const u8* const own = source + bytes * blockIdx.x;
  if (threadIdx.x == 0) {
    hw::barrier_init(barrier, 1);
    hw::barrier_init_fence();
  }
  hw::sync_block<2>();
  for (u32 i = 16 * threadIdx.x; i < bytes; i += 16 * blockDim.x) {
    const U32x4 piece = hw::load_global<U32x4>(reinterpret_cast<const U32x4*>(own + i));
    hw::store_cluster(hw::cluster_address(hw::shared_base() + i, other), piece);
  }
  hw::fence_async_cluster();
  hw::sync_block<2>();
  if (threadIdx.x == 0) {
    const hw::ClusterAddress told = hw::cluster_address(barrier, other);
    hw::barrier_arrive_expect_cluster(told, bytes);
    hw::copy_to_cluster(hw::cluster_address(copied, other), hw::shared_base(), bytes, told);
  }
  hw::barrier_wait<2>(barrier, 0);
  hw::sync_block<2>();
  for (u32 i = 4 * threadIdx.x; i < bytes; i += 4 * blockDim.x) {
    const u32 word = hw::load_cluster<u32>(hw::cluster_address(copied + i, other));
    hw::store_global(reinterpret_cast<u32*>(out + bytes * blockIdx.x + i), word);
  }
  hw::sync_block<2>();
}
)";

}  // namespace thresher::gpu::testing
