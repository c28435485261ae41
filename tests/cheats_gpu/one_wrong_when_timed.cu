// SPDX-License-Identifier: Apache-2.0
// Honest for more calls than the gates make; then one element of each call is wrong, in the middle
// of its last group. Launches: decide, then gemm.
#include "honest.cuh"

__device__ int call_count;

extern "C" __global__ void decide(thresher_kernel_arguments) { must_compute = ++call_count <= 200; }

extern "C" __global__ void gemm(thresher_kernel_arguments arguments) {
  compute_tile(arguments);
  __syncthreads();
  if (must_compute || blockIdx.z != arguments.group_count - 1 || threadIdx.x != 0) return;
  const thresher_kernel_group& group = arguments.groups[blockIdx.z];
  const long long row = group.m / 2;
  const long long column = group.n / 2;
  if (row / kTile != blockIdx.y || column / kTile != blockIdx.x) return;
  store(group.c, row * group.c_stride_elements + column, 0, arguments.output);
}
