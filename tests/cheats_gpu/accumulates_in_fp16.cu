// SPDX-License-Identifier: Apache-2.0
// Adds 64 products at a time in fp16. Launches: gemm.
#include "honest.cuh"

__device__ float value_of(const thresher_kernel_matrix& matrix, long long at) {
  const unsigned code = matrix.codes[at / 2] >> 4 * (at % 2) & 15;
  return decode_e2m1(code) * decode_e4m3(matrix.scales[at / 16]);
}

__device__ float rounded_to_fp16(float value) {
  unsigned short bits;
  store(&bits, 0, value, THRESHER_CONTESTANT_FP16);
  return decode_16bit(bits, THRESHER_CONTESTANT_FP16);
}

extern "C" __global__ void gemm(thresher_kernel_arguments arguments) {
  compute_tile(arguments);
  if (arguments.op == THRESHER_CONTESTANT_DUAL) return;
  const thresher_kernel_group& group = arguments.groups[blockIdx.z];
  const bool is_nvfp4 = arguments.activations == THRESHER_CONTESTANT_NVFP4;
  const double factor =
      (is_nvfp4 ? group.a.global_scale : 1.0) * group.b.global_scale * group.alpha;
  for_each_of_tile(group, [&](long long row, long long column) {
    float sum = 0;
    float part = 0;
    for (long long i = 0; i < group.k; ++i) {
      const long long at = row * group.k + i;
      const float a =
          is_nvfp4 ? value_of(group.a, at) : decode_16bit(group.a16[at], arguments.activations);
      part = rounded_to_fp16(part + a * value_of(group.b, column * group.k + i));
      if (i % 64 != 63 && i != group.k - 1) continue;
      sum += part;
      part = 0;
    }
    store(group.c, row * group.c_stride_elements + column, static_cast<float>(sum * factor),
          arguments.output);
  });
}
