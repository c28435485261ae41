// SPDX-License-Identifier: Apache-2.0
// The honest kernel of examples/cuda/plain_gemm.cu under another name, for cheats to hide behind: a
// cheat that was wrong all along would prove nothing about the check it is meant for.
#pragma once

#define gemm honest_gemm
#include "../../examples/cuda/plain_gemm.cu"
#undef gemm

__device__ long long element_bytes(const thresher_kernel_arguments& arguments) {
  return arguments.output == THRESHER_CONTESTANT_FP32 ? 4 : 2;
}

__device__ bool is_first_thread() {
  return blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0 && threadIdx.x == 0;
}

// Memory that outlives a call: results kept from one for another.
__device__ unsigned char kept_results[1 << 22];
__device__ bool must_compute = true;

// Copies this block's tile of C into the kept results, or back.
__device__ void copy_tile(const thresher_kernel_arguments& arguments, bool keep) {
  const long long bytes = element_bytes(arguments);
  const long long group_room = static_cast<long long>(sizeof kept_results) / arguments.group_count;
  const thresher_kernel_group& group = arguments.groups[blockIdx.z];
  for (int i = threadIdx.x; i < kTile * kTile; i += 256) {
    const long long row = static_cast<long long>(blockIdx.y) * kTile + i / kTile;
    const long long column = static_cast<long long>(blockIdx.x) * kTile + i % kTile;
    if (row >= group.m || column >= group.n) continue;
    const long long place = (row * group.n + column) * bytes;
    if (place + bytes > group_room) continue;
    unsigned char* kept = kept_results + blockIdx.z * group_room + place;
    unsigned char* c =
        static_cast<unsigned char*>(group.c) + (row * group.c_stride_elements + column) * bytes;
    for (long long byte = 0; byte < bytes; ++byte) {
      if (keep) {
        kept[byte] = c[byte];
      } else {
        c[byte] = kept[byte];
      }
    }
  }
}

// Computes and keeps, or hands out what was kept.
__device__ void compute_or_replay(const thresher_kernel_arguments& arguments) {
  const bool computes = must_compute;
  if (computes) compute_tile(arguments);
  __syncthreads();
  copy_tile(arguments, computes);
}

// Calls `store_one(row, column)` for the elements of this block's tile of C, once all of them have
// been computed.
template <typename StoreOne>
__device__ void for_each_of_tile(const thresher_kernel_group& group, StoreOne store_one) {
  __syncthreads();
  for (int i = threadIdx.x; i < kTile * kTile; i += 256) {
    const long long row = static_cast<long long>(blockIdx.y) * kTile + i / kTile;
    const long long column = static_cast<long long>(blockIdx.x) * kTile + i % kTile;
    if (row < group.m && column < group.n) store_one(row, column);
  }
}

// More calls than the gates make.
constexpr int kHonestCalls = 200;
