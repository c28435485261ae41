// SPDX-License-Identifier: Apache-2.0
// Right in the corners of every group, one half everywhere else. Launches: gemm.
#include "honest.cuh"

extern "C" __global__ void gemm(thresher_kernel_arguments arguments) {
  compute_tile(arguments);
  __syncthreads();
  const thresher_kernel_group& group = arguments.groups[blockIdx.z];
  for (int i = threadIdx.x; i < kTile * kTile; i += 256) {
    const long long row = static_cast<long long>(blockIdx.y) * kTile + i / kTile;
    const long long column = static_cast<long long>(blockIdx.x) * kTile + i % kTile;
    if (row >= group.m || column >= group.n) continue;
    const bool outer_row = row == 0 || row == group.m - 1;
    const bool outer_column = column == 0 || column == group.n - 1;
    if (outer_row && outer_column) continue;
    store(group.c, row * group.c_stride_elements + column, 0.5f, arguments.output);
  }
}
