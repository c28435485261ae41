// SPDX-License-Identifier: Apache-2.0
// Right, and then changes the activations of the call. Launches: gemm, then erase.
#include "honest.cuh"

extern "C" __global__ void gemm(thresher_kernel_arguments arguments) { compute_tile(arguments); }

extern "C" __global__ void erase(thresher_kernel_arguments arguments) {
  for (long long g = 0; g < arguments.group_count; ++g) {
    const thresher_kernel_group& group = arguments.groups[g];
    if (group.m > 0) const_cast<unsigned char*>(group.a.codes)[0] ^= 0x77;
  }
}
