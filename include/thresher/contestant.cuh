// SPDX-License-Identifier: Apache-2.0
// What the kernels of a CUDA source get when it enters a match (docs/contestants.md).
//
// The source has no host code: its pitch says which kernels run and over what grid. Every kernel is
//
//   extern "C" __global__ void gemm(thresher_kernel_arguments arguments) { ... }
//
// NVRTC compiles it for the device at hand; this file needs no CUDA header and no host one. All
// addresses are the device's. Numbers have the names and values of contestant.h.
#ifndef THRESHER_CONTESTANT_CUH
#define THRESHER_CONTESTANT_CUH

// gemm: C = (A*B^T)*alpha.   dual: C = silu(A*B^T*alpha) * (A*B_up^T*alpha_up).
#define THRESHER_CONTESTANT_GEMM 0
#define THRESHER_CONTESTANT_DUAL 1

// Types of A (activations) and of C (output).
#define THRESHER_CONTESTANT_NVFP4 0
#define THRESHER_CONTESTANT_FP16 1
#define THRESHER_CONTESTANT_BF16 2
#define THRESHER_CONTESTANT_FP32 3

// rows x k values: k/2 bytes of E2M1 codes per row, element 2i in the low nibble, and k/16 E4M3
// scales per row; both row-major without padding, 64-byte aligned. Every value is code * scale of
// its 16 elements * global_scale.
struct thresher_kernel_matrix {
  const unsigned char* codes;
  const unsigned char* scales;
  float global_scale;
};

// One group: A is m x k, B is n x k, C is m x n. m may be 0; k is a multiple of 16. Rows of C lie
// `c_stride_elements` apart, which may be more than n; what lies between them is not yours. C is
// aligned to its element, no further.
struct thresher_kernel_group {
  long long m;
  long long n;
  long long k;
  thresher_kernel_matrix a;     // NVFP4 activations
  const unsigned short* a16;    // or fp16 or bf16 ones, m x k row-major
  thresher_kernel_matrix b;     // gemm's weights, dual's gate
  thresher_kernel_matrix b_up;  // dual only
  float alpha;
  float alpha_up;
  void* c;
  long long c_stride_elements;
};

// `packed` is what the prepare launches of the same problem have written; it has the bytes that the
// pitch asks for. `workspace` is scratch memory: what it holds before a call is anything. In
// prepare launches there are no activations and no outputs yet: these pointers are null.
struct thresher_kernel_arguments {
  const thresher_kernel_group* groups;
  long long group_count;
  int op;           // THRESHER_CONTESTANT_GEMM or _DUAL
  int activations;  // THRESHER_CONTESTANT_NVFP4, _FP16 or _BF16
  int output;       // THRESHER_CONTESTANT_FP16, _BF16 or _FP32
  int sm_count;
  void* packed;
  void* workspace;
};

#endif
