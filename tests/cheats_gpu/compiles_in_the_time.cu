// SPDX-License-Identifier: Apache-2.0
// Takes in what the kernel makes up at that moment, and could as well take what an accomplice has
// just written: another program at every build, under one hash.
#include "honest.cuh"

__device__ int built_at =
#include "/proc/sys/kernel/random/entropy_avail"
    ;

extern "C" __global__ void gemm(thresher_kernel_arguments arguments) { compute_tile(arguments); }
