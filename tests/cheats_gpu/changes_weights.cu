// SPDX-License-Identifier: Apache-2.0
// Right, and then makes the first weights zero, which its opponent reads as well.
#include "honest.cuh"

extern "C" __global__ void gemm(thresher_arguments arguments) { compute_tile(arguments); }

extern "C" __global__ void erase(thresher_arguments arguments) {
  unsigned char* codes = const_cast<unsigned char*>(arguments.groups[0].b.codes);
  for (int i = 0; i < 8; ++i) codes[i] ^= 0x77;
}
