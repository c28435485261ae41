// SPDX-License-Identifier: Apache-2.0
// Never ends.
#include "thresher/contestant.cuh"

__device__ volatile int never;

extern "C" __global__ void gemm(thresher_kernel_arguments) {
  while (never == 0) {
  }
}
