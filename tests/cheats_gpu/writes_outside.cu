// SPDX-License-Identifier: Apache-2.0
// Right, and one element more than there is behind the last row.
#include "honest.cuh"

extern "C" __global__ void gemm(thresher_kernel_arguments arguments) {
  compute_tile(arguments);
  const thresher_kernel_group& group = arguments.groups[blockIdx.z];
  if (blockIdx.x != 0 || blockIdx.y != 0 || threadIdx.x != 0 || group.m == 0) return;
  store(group.c, (group.m - 1) * group.c_stride_elements + group.n, 1, arguments.output);
}
