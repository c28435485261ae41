/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface of a contestant: a .c or .cpp file, or a shared library, that enters a match.
 *
 * It defines four functions, declared at the end of this file:
 *   thresher_contestant_abi_version   returns THRESHER_CONTESTANT_ABI_VERSION
 *   thresher_contestant_prepare       takes a problem
 *   thresher_contestant_run           computes one call
 *   thresher_contestant_destroy       optional
 *
 * prepare() gets a problem and its weights and may pack them; it is timed apart. run() computes one
 * call and is what the match times. Both are called from one thread; a contestant may have threads
 * of its own, up to thread_count of them. Work must be finished when run() returns.
 * docs/contestants.md has the arithmetic, the rules and an example. */
#ifndef THRESHER_CONTESTANT_H
#define THRESHER_CONTESTANT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define THRESHER_CONTESTANT_ABI_VERSION 1

/* What the functions return. Anything else counts as THRESHER_CONTESTANT_FAILED. */
#define THRESHER_CONTESTANT_OK 0
#define THRESHER_CONTESTANT_UNSUPPORTED 1 /* prepare only: this shape is not for me */
#define THRESHER_CONTESTANT_FAILED 2

/* gemm: C = (A*B^T)*alpha.   dual: C = silu(A*B^T*alpha) * (A*B_up^T*alpha_up). */
#define THRESHER_CONTESTANT_GEMM 0
#define THRESHER_CONTESTANT_DUAL 1

/* Types of A (activations) and of C (output). */
#define THRESHER_CONTESTANT_NVFP4 0
#define THRESHER_CONTESTANT_FP16 1
#define THRESHER_CONTESTANT_BF16 2
#define THRESHER_CONTESTANT_FP32 3

/* rows x k values: k/2 bytes of E2M1 codes per row, element 2i in the low nibble, and k/16 E4M3
 * scales per row; both row-major without padding, 64-byte aligned. Every value is code * scale of
 * its 16 elements * global_scale. */
typedef struct {
  const uint8_t* codes;
  const uint8_t* scales;
  float global_scale;
} thresher_contestant_matrix;

/* One group: A is m x k, B is n x k, C is m x n. m may be 0; k is a multiple of 16. */
typedef struct {
  int64_t m;
  int64_t n;
  int64_t k;
  thresher_contestant_matrix b;    /* gemm's weights, dual's gate */
  thresher_contestant_matrix b_up; /* dual only */
} thresher_contestant_group;

/* Valid until destroy(); the weights never change. */
typedef struct {
  int op;          /* THRESHER_CONTESTANT_GEMM or _DUAL */
  int activations; /* THRESHER_CONTESTANT_NVFP4, _FP16 or _BF16 */
  int output;      /* THRESHER_CONTESTANT_FP16, _BF16 or _FP32 */
  int thread_count;
  int64_t group_count;
  const thresher_contestant_group* groups;
} thresher_contestant_problem;

/* What one group reads and writes in one call, valid during that call. Rows of `c` lie
 * `c_stride_elements` apart, which may be more than n; what lies between them is not yours. `c` is
 * aligned to its element, no further, and null when m is 0. */
typedef struct {
  thresher_contestant_matrix a; /* NVFP4 activations */
  const uint16_t* a16;          /* fp16 or bf16 activations, m x k row-major */
  float alpha;
  float alpha_up;
  void* c;
  int64_t c_stride_elements;
} thresher_contestant_call;

int thresher_contestant_abi_version(void);
/* `*message` may be set to a text, which must outlive the call, when the result is not OK. */
int thresher_contestant_prepare(const thresher_contestant_problem* problem, void** state,
                                const char** message);
/* `calls` has one entry per group of the problem that `state` was prepared for. */
int thresher_contestant_run(void* state, const thresher_contestant_call* calls);
void thresher_contestant_destroy(void* state);

#ifdef __cplusplus
}
#endif

#endif
