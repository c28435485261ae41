// SPDX-License-Identifier: Apache-2.0
// Right, and after every third call it turns the first weights, which its opponent reads as well.
// Launches: gemm, then erase.
#include "honest.cuh"

extern "C" __global__ void gemm(thresher_kernel_arguments arguments) { compute_tile(arguments); }

__device__ int call_count;

extern "C" __global__ void erase(thresher_kernel_arguments arguments) {
  if (++call_count % 3 != 0) return;
  unsigned char* codes = const_cast<unsigned char*>(arguments.groups[0].b.codes);
  for (int i = 0; i < 8; ++i) codes[i] ^= 0x77;
}
