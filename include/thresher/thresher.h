/* SPDX-License-Identifier: Apache-2.0
 *
 * The C twin of thresher/engine.hpp: pack weights once, plan a problem, run it as often as you
 * like. Valid C11 and C++. The arithmetic and the rules for threads are those of engine.hpp.
 *
 * Calls return THRESHER_OK or a status that says whose fault it is; thresher_last_error() then says
 * what is wrong. A call that fails sets what it would have created to NULL. Handles are made by
 * _create and pack functions and freed by _destroy ones, which accept NULL; weights and plans may
 * be destroyed before the engine or after it. supports() has no twin: thresher_plan_create() says
 * why a variant cannot run a problem.
 *
 * C has no default values: a struct set to zeros has alpha and global_scale 0, where 1 is meant.
 */
#ifndef THRESHER_THRESHER_H_
#define THRESHER_THRESHER_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define THRESHER_VERSION_MAJOR 0
#define THRESHER_VERSION_MINOR 1
#define THRESHER_VERSION_PATCH 0

/* Enumerations are int32_t: their size is the same for every compiler, and a value out of range is
 * an error like any other. */
typedef int32_t thresher_status;
enum {
  THRESHER_OK = 0,
  THRESHER_INVALID = 1,       /* the caller's to mend; the message names the place and the limit */
  THRESHER_OUT_OF_MEMORY = 2, /* no memory for what was asked */
  THRESHER_INTERNAL = 3       /* a bug in Thresher; please report the message */
};

typedef int32_t thresher_op;
enum { THRESHER_GEMM = 0, THRESHER_DUAL = 1 };

typedef int32_t thresher_activations;
enum { THRESHER_A_NVFP4 = 0, THRESHER_A_FP16 = 1, THRESHER_A_BF16 = 2 };

typedef int32_t thresher_output;
enum { THRESHER_C_FP16 = 0, THRESHER_C_BF16 = 1, THRESHER_C_FP32 = 2 };

typedef struct thresher_engine thresher_engine;
typedef struct thresher_weights thresher_weights;
typedef struct thresher_plan thresher_plan;
typedef struct thresher_workspace thresher_workspace;

/* An NVFP4 matrix to read: rows x k_elements/2 bytes of codes, rows x k_elements/16 bytes of
 * scales. */
typedef struct thresher_nvfp4_view {
  const uint8_t* codes;
  const uint8_t* scales;
  int64_t rows;
  int64_t k_elements; /* a multiple of 16 */
  float global_scale; /* 1 for none */
} thresher_nvfp4_view;

/* An NVFP4 matrix to write: the caller sets the extents and brings the memory, of the sizes above.
 */
typedef struct thresher_nvfp4_buffer {
  uint8_t* codes;
  uint8_t* scales;
  int64_t rows;
  int64_t k_elements;
  float global_scale; /* set by the call */
} thresher_nvfp4_buffer;

typedef struct thresher_group {
  int64_t m; /* rows of A and C, 0 allowed */
  int64_t n; /* columns of C */
  int64_t k; /* elements summed over, a multiple of 16 */
} thresher_group;

typedef struct thresher_problem {
  const char* name; /* for messages; may be NULL */
  thresher_op op;
  thresher_activations activations;
  thresher_output output;
  const thresher_group* groups;
  int64_t group_count;
} thresher_problem;

/* What one group reads and writes: GroupOperands of engine.hpp, field by field. */
typedef struct thresher_group_operands {
  thresher_nvfp4_view a; /* THRESHER_A_NVFP4 */
  const uint16_t* a16;   /* THRESHER_A_FP16 and THRESHER_A_BF16: m x k row-major bits */
  const thresher_weights* weights;
  void* c;                   /* m x n, row-major */
  int64_t c_stride_elements; /* between rows of C; 0 means n */
  float alpha;               /* gemm's factor, dual's factor of the gate product; 1 for none */
  float alpha_up;            /* dual's factor of the up product; 1 for none */
} thresher_group_operands;

/* "0.1.0": that of the library, where the macros above are those of the header. */
const char* thresher_version(void);

/* What the last call of this thread that failed had to say, "" if none has. Valid until the next
 * one. */
const char* thresher_last_error(void);

/* Rounds rows x k_elements values, row-major, to NVFP4. use_global_scale: 0 leaves the global scale
 * 1, anything else makes it amax / (6 * 448), as checkpoint makers do. */
thresher_status thresher_quantize(const float* values, int32_t use_global_scale,
                                  thresher_nvfp4_buffer* out);
thresher_status thresher_quantize_fp16(const uint16_t* values, int32_t use_global_scale,
                                       thresher_nvfp4_buffer* out);
thresher_status thresher_quantize_bf16(const uint16_t* values, int32_t use_global_scale,
                                       thresher_nvfp4_buffer* out);
/* The rows x k_elements values that a matrix stands for. */
thresher_status thresher_dequantize(const thresher_nvfp4_view* matrix, float* values);
/* What was written, for reading. */
thresher_nvfp4_view thresher_view(const thresher_nvfp4_buffer* buffer);

/* thread_count 0: one thread per core that this process may use. */
thresher_status thresher_engine_create(int32_t thread_count, thresher_engine** engine);
void thresher_engine_destroy(thresher_engine* engine);

/* Functions that return a number or a text have no status: 0 or NULL is their answer to a NULL
 * handle or an index out of range, and thresher_last_error() says so. */
int32_t thresher_thread_count(const thresher_engine* engine);
/* Named variants that this machine can run, the default's instruction set first. */
int64_t thresher_variant_count(const thresher_engine* engine);
const char* thresher_variant_name(const thresher_engine* engine, int64_t index);

thresher_status thresher_pack(const thresher_engine* engine, const thresher_nvfp4_view* b,
                              thresher_weights** weights);
thresher_status thresher_pack_dual(const thresher_engine* engine, const thresher_nvfp4_view* gate,
                                   const thresher_nvfp4_view* up, thresher_weights** weights);
void thresher_weights_destroy(thresher_weights* weights);
size_t thresher_weights_bytes(const thresher_weights* weights);
/* The very bytes that were packed; unpack_up gives the second matrix of dual weights. */
thresher_status thresher_unpack(const thresher_weights* weights, thresher_nvfp4_buffer* out);
thresher_status thresher_unpack_up(const thresher_weights* weights, thresher_nvfp4_buffer* out);

/* A variant of NULL or "" lets the engine choose by shape and machine. */
thresher_status thresher_plan_create(const thresher_engine* engine, const thresher_problem* problem,
                                     const char* variant, thresher_plan** plan);
void thresher_plan_destroy(thresher_plan* plan);
const char* thresher_plan_variant(const thresher_plan* plan);
size_t thresher_plan_workspace_bytes(const thresher_plan* plan);

/* Scratch memory for thresher_run(): one per plan and thread, used by one call at a time. */
thresher_status thresher_workspace_create(const thresher_plan* plan,
                                          thresher_workspace** workspace);
void thresher_workspace_destroy(thresher_workspace* workspace);

/* What thresher_run() checks before it computes, and that no output overlaps another buffer. */
thresher_status thresher_check(const thresher_engine* engine, const thresher_plan* plan,
                               const thresher_group_operands* operands, int64_t group_count);

/* Computes every group. Allocates nothing when it succeeds on a workspace made for this plan. */
thresher_status thresher_run(const thresher_engine* engine, const thresher_plan* plan,
                             const thresher_group_operands* operands, int64_t group_count,
                             thresher_workspace* workspace);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* THRESHER_THRESHER_H_ */
