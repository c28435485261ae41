// SPDX-License-Identifier: Apache-2.0
// Uses a word that the language does not have.
#include "thresher/contestant.cuh"

extern "C" __global__ void gemm(thresher_kernel_arguments arguments) { comptue_tile(arguments); }
