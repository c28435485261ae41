// SPDX-License-Identifier: Apache-2.0
// A contestant in CUDA: correct and simple, a place to start from. pitches/gpu/cuda_source.toml
// says how it is launched:
//
//   thresher pitch check --run pitches/gpu/cuda_source.toml
//
// A block of 256 threads computes 64 x 64 elements of C. It decodes 32 elements of k of its rows
// and columns into shared memory, multiplies them in FP32, and goes on with the next 32; at the end
// the factors are applied and the result is rounded once. Every type of operand is taken.
#include "thresher/contestant.cuh"

constexpr int kTile = 64;   // rows and columns of C per block
constexpr int kDepth = 32;  // elements of k per step
constexpr int kPitch = kTile + 4;
constexpr int kPart = 4;  // rows and columns of C per thread

// A float with the bits of E2M1 or E4M3 where its own exponent and mantissa meet is the value times
// a power of two, subnormals included.
__device__ float decode_e2m1(unsigned code) {
  return __uint_as_float((code & 7) << 22 | (code & 8) << 28) * 0x1p126f;
}
__device__ float decode_e4m3(unsigned code) {
  return __uint_as_float((code & 127) << 20 | (code & 128) << 24) * 0x1p120f;
}

__device__ float decode_16bit(unsigned short bits, int type) {
  if (type == THRESHER_CONTESTANT_BF16) return __uint_as_float(static_cast<unsigned>(bits) << 16);
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

__device__ void store(void* c, long long index, float value, int type) {
  unsigned short bits;
  if (type == THRESHER_CONTESTANT_FP32) {
    static_cast<float*>(c)[index] = value;
    return;
  }
  if (type == THRESHER_CONTESTANT_FP16) {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  } else {
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  }
  static_cast<unsigned short*>(c)[index] = bits;
}

// 64 rows x 32 elements of k, k first: a thread reads the values of neighbouring rows.
struct Slice {
  float values[kDepth][kPitch];

  // Each thread brings 8 elements of one row.
  __device__ void load(const thresher_kernel_matrix& matrix, long long rows, long long k,
                       long long row, long long begin) {
    const int own_row = threadIdx.x / 4;
    const int own_k = threadIdx.x % 4 * 8;
    const long long at = (row + own_row) * k + begin + own_k;
    const bool there = row + own_row < rows && begin + own_k < k;
    const unsigned codes = there ? *reinterpret_cast<const unsigned*>(matrix.codes + at / 2) : 0;
    const float scale = there ? decode_e4m3(matrix.scales[at / 16]) : 0;
    for (int i = 0; i < 8; ++i) {
      values[own_k + i][own_row] = decode_e2m1(codes >> 4 * i & 15) * scale;
    }
  }

  __device__ void load(const unsigned short* a16, int type, long long rows, long long k,
                       long long row, long long begin) {
    const int own_row = threadIdx.x / 4;
    const int own_k = threadIdx.x % 4 * 8;
    const long long at = (row + own_row) * k + begin + own_k;
    const bool there = row + own_row < rows && begin + own_k < k;
    for (int i = 0; i < 8; ++i) {
      values[own_k + i][own_row] = there ? decode_16bit(a16[at + i], type) : 0;
    }
  }
};

using Sums = float[kPart][kPart];

__device__ void add_products(const Slice& a, const Slice& b, Sums& sums) {
  const int row = threadIdx.x / 16 * kPart;
  const int column = threadIdx.x % 16 * kPart;
  for (int i = 0; i < kDepth; ++i) {
    for (int y = 0; y < kPart; ++y) {
      for (int x = 0; x < kPart; ++x) {
        sums[y][x] += a.values[i][row + y] * b.values[i][column + x];
      }
    }
  }
}

__device__ float silu(float x) { return x / (1 + expf(-x)); }

// The tile of C that this block stands for: columns by x, rows by y, groups by z.
__device__ void compute_tile(const thresher_kernel_arguments& arguments) {
  __shared__ Slice a;
  __shared__ Slice b;
  __shared__ Slice b_up;
  const thresher_kernel_group& group = arguments.groups[blockIdx.z];
  const long long first_row = static_cast<long long>(blockIdx.y) * kTile;
  const long long first_column = static_cast<long long>(blockIdx.x) * kTile;
  if (first_row >= group.m || first_column >= group.n) return;
  const bool is_dual = arguments.op == THRESHER_CONTESTANT_DUAL;
  const bool is_nvfp4 = arguments.activations == THRESHER_CONTESTANT_NVFP4;

  Sums sums = {};
  Sums sums_up = {};
  for (long long begin = 0; begin < group.k; begin += kDepth) {
    if (is_nvfp4) {
      a.load(group.a, group.m, group.k, first_row, begin);
    } else {
      a.load(group.a16, arguments.activations, group.m, group.k, first_row, begin);
    }
    b.load(group.b, group.n, group.k, first_column, begin);
    if (is_dual) b_up.load(group.b_up, group.n, group.k, first_column, begin);
    __syncthreads();
    add_products(a, b, sums);
    if (is_dual) add_products(a, b_up, sums_up);
    __syncthreads();
  }

  // In double: a product of three scales may leave the range of float on the way.
  const double a_scale = is_nvfp4 ? group.a.global_scale : 1.0f;
  const double factor = a_scale * group.b.global_scale * group.alpha;
  const double factor_up = is_dual ? a_scale * group.b_up.global_scale * group.alpha_up : 1;
  for (int y = 0; y < kPart; ++y) {
    for (int x = 0; x < kPart; ++x) {
      const long long row = first_row + threadIdx.x / 16 * kPart + y;
      const long long column = first_column + threadIdx.x % 16 * kPart + x;
      if (row >= group.m || column >= group.n) continue;
      float result = static_cast<float>(sums[y][x] * factor);
      if (is_dual) result = silu(result) * static_cast<float>(sums_up[y][x] * factor_up);
      store(group.c, row * group.c_stride_elements + column, result, arguments.output);
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) gemm(thresher_kernel_arguments arguments) {
  compute_tile(arguments);
}
