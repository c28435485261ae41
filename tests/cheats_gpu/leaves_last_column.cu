// SPDX-License-Identifier: Apache-2.0
// Right, but for the last column of every group, which it leaves as it found it. Launches:
// narrow, then gemm.
#include "honest.cuh"

__device__ thresher_kernel_group narrow_groups[1024];

extern "C" __global__ void narrow(thresher_kernel_arguments arguments) {
  for (long long g = 0; g < arguments.group_count && g < 1024; ++g) {
    narrow_groups[g] = arguments.groups[g];
    --narrow_groups[g].n;
  }
}

extern "C" __global__ void gemm(thresher_kernel_arguments arguments) {
  arguments.groups = narrow_groups;
  compute_tile(arguments);
}
