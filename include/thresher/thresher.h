/* SPDX-License-Identifier: Apache-2.0
 *
 * The C twin of thresher/engine.hpp: pack weights once, plan a problem, run it as often as you
 * like, on the CPU, a GPU or the emulator. Valid C11 and C++. The arithmetic, the rules for threads
 * and what is meant by device memory and streams are those of engine.hpp.
 *
 * Calls return THRESHER_OK or a status that says whose fault it is; thresher_last_error() then says
 * what is wrong. A call that fails sets what it would have created to NULL. Handles are made by
 * _create and pack functions and freed by _destroy ones, which accept NULL; weights and plans may
 * be destroyed before the engine or after it.
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
typedef struct thresher_buffer thresher_buffer;
typedef struct thresher_call thresher_call;

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
  float global_scale; /* set by the call, or given to it */
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

/* Weights to pack, in host memory: WeightMatrices of engine.hpp. */
typedef struct thresher_weight_matrices {
  thresher_op op;
  thresher_nvfp4_view b;            /* gemm's weights, dual's gate */
  thresher_nvfp4_view up;           /* THRESHER_DUAL only */
  thresher_activations activations; /* of the problems that they are for */
} thresher_weight_matrices;

/* Rows of activations and of C, in the memory of the device. */
typedef struct thresher_rows {
  const void* a;             /* NVFP4 codes, k / 2 bytes per row; fp16 and bf16: k values per row */
  const void* a_scales;      /* THRESHER_A_NVFP4 only: k / 16 bytes per row */
  void* c;                   /* row-major */
  int64_t c_stride_elements; /* between rows of C; 0 means n */
} thresher_rows;

typedef struct thresher_group_operands {
  const thresher_weights* weights;
  float a_global_scale; /* THRESHER_A_NVFP4 only; 1 for none */
  float alpha;          /* gemm's factor, dual's factor of the gate product; 1 for none */
  float alpha_up;       /* dual's factor of the up product; 1 for none */
  thresher_rows rows;   /* the group's own, where those of all groups do not follow each other */
} thresher_group_operands;

/* What a call reads and writes. */
typedef struct thresher_operands {
  const thresher_group_operands* groups;
  int64_t group_count;
  thresher_rows rows; /* of all groups, one group after the other; zeros: each has its own */
  /* NULL, or where the tokens of each group stand in device memory. */
  const uint32_t* device_counts;
  int64_t tokens_max; /* with device_counts; 0: the plan's */
} thresher_operands;

/* Zeros are the defaults. */
typedef struct thresher_engine_options {
  const char* device;       /* "cpu" (the default), "gpu", "gpu:1", "emulator", "gpu:sm80" */
  int32_t thread_count;     /* of the CPU; 0: one per core that this process may use */
  const char* cache_folder; /* for a GPU's compiled kernels; NULL: nowhere */
  const char* const* compiler_folders; /* to look for NVRTC in before the system's own places */
  int64_t compiler_folder_count;
  uint64_t emulator_seed; /* chooses the order of events; 0 means 1 */
  const char* plan_file;  /* what `thresher tune` wrote; NULL: none */
} thresher_engine_options;

/* What the compiler and the driver say of one kernel of a plan. */
typedef struct thresher_kernel_report {
  const char* name; /* lives as long as the plan */
  int32_t register_count;
  size_t spill_bytes;
  size_t shared_bytes;
  int32_t block_count;
  int32_t thread_count;
} thresher_kernel_report;

/* "0.1.0": that of the library, where the macros above are those of the header. */
const char* thresher_version(void);

/* What the last call of this thread that failed had to say, "" if none has. Valid until the next
 * one. */
const char* thresher_last_error(void);

/* Rounds rows x k_elements values, row-major, to NVFP4. use_global_scale: 0 leaves the global scale
 * 1, THRESHER_GLOBAL_SCALE_GIVEN takes that of `out`, as for activations whose scale was
 * calibrated, anything else makes it amax / (6 * 448), as checkpoint makers do. */
enum { THRESHER_GLOBAL_SCALE_GIVEN = 2 };
thresher_status thresher_quantize(const float* values, int32_t use_global_scale,
                                  thresher_nvfp4_buffer* out);
thresher_status thresher_quantize_fp16(const uint16_t* values, int32_t use_global_scale,
                                       thresher_nvfp4_buffer* out);
thresher_status thresher_quantize_bf16(const uint16_t* values, int32_t use_global_scale,
                                       thresher_nvfp4_buffer* out);
/* Any of the three, the type of `values` named as that of an output, by at most so many threads;
 * 0: as many as pay. The bytes are the same. */
thresher_status thresher_quantize_on_threads(const void* values, thresher_output type,
                                             int32_t use_global_scale, int32_t thread_count,
                                             thresher_nvfp4_buffer* out);
/* Checks sizes, null pointers and NaN scale codes; `what` names the matrix in messages. */
thresher_status thresher_check_matrix(const thresher_nvfp4_view* matrix, const char* what);
/* The rows x k_elements values that a matrix stands for. */
thresher_status thresher_dequantize(const thresher_nvfp4_view* matrix, float* values);
/* What was written, for reading. */
thresher_nvfp4_view thresher_view(const thresher_nvfp4_buffer* buffer);
/* The 128x4 scale swizzle that cuBLAS and CUTLASS take, of rows x scale_count_per_row bytes and
 * back: `swizzled` has rows rounded up to 128 times scales per row rounded up to 4. */
thresher_status thresher_swizzle_scales_128x4(const uint8_t* scales, int64_t rows,
                                              int64_t scale_count_per_row, uint8_t* swizzled);
thresher_status thresher_unswizzle_scales_128x4(const uint8_t* swizzled, int64_t rows,
                                                int64_t scale_count_per_row, uint8_t* scales);

/* NULL for the defaults: the CPU with all its cores. */
thresher_status thresher_engine_create(const thresher_engine_options* options,
                                       thresher_engine** engine);
void thresher_engine_destroy(thresher_engine* engine);

/* Functions that return a number or a text have no status: 0 or NULL is their answer to a NULL
 * handle or an index out of range, and thresher_last_error() says so. A text that is an answer to
 * arguments, rather than part of a handle, is valid until this thread asks for the next such. */

/* "" if an engine can be made with these options, else what is missing and what to do. NULL as
 * options for the defaults. */
const char* thresher_why_no_device(const thresher_engine_options* options);
const char* thresher_engine_device(const thresher_engine* engine);      /* "cpu", "gpu:0" */
const char* thresher_engine_description(const thresher_engine* engine); /* "NVIDIA H200 ..." */
/* Whether the plan file is used, or why not; "" where there is none. */
const char* thresher_engine_plan_note(const thresher_engine* engine);
int32_t thresher_thread_count(const thresher_engine* engine);
/* Named variants that this device can run, the default first. */
int64_t thresher_variant_count(const thresher_engine* engine);
const char* thresher_variant_name(const thresher_engine* engine, int64_t index);
/* "" if the variant can run the problem, else why not: supports() of engine.hpp. */
const char* thresher_why_not_supported(const thresher_engine* engine,
                                       const thresher_problem* problem, const char* variant);
/* The variant that thresher_plan_create() takes where none is named. */
const char* thresher_choose(const thresher_engine* engine, const thresher_problem* problem,
                            int64_t tokens_max);
/* Waits for all work on the device, and says what went wrong there. */
thresher_status thresher_synchronize(const thresher_engine* engine);

/* Memory of the device, for those who have no other way to get it. Copies are done when they
 * return, after all work queued so far. */
thresher_status thresher_buffer_create(const thresher_engine* engine, size_t bytes,
                                       thresher_buffer** buffer);
void thresher_buffer_destroy(thresher_buffer* buffer);
void* thresher_buffer_data(const thresher_buffer* buffer);
size_t thresher_buffer_bytes(const thresher_buffer* buffer);
thresher_status thresher_copy_in(const thresher_buffer* buffer, const void* from, size_t bytes,
                                 size_t offset_bytes);
thresher_status thresher_copy_out(const thresher_buffer* buffer, void* to, size_t bytes,
                                  size_t offset_bytes);

thresher_status thresher_pack(const thresher_engine* engine,
                              const thresher_weight_matrices* matrices, thresher_weights** weights);
/* Another copy: calls that take turns at copies find nothing of them in a cache. */
thresher_status thresher_duplicate(const thresher_engine* engine, const thresher_weights* weights,
                                   thresher_weights** copy);
void thresher_weights_destroy(thresher_weights* weights);
thresher_op thresher_weights_op(const thresher_weights* weights);
int64_t thresher_weights_n(const thresher_weights* weights);
int64_t thresher_weights_k_elements(const thresher_weights* weights);
size_t thresher_weights_bytes(const thresher_weights* weights);
/* The very bytes that were packed; unpack_up gives the second matrix of dual weights. */
thresher_status thresher_unpack(const thresher_weights* weights, thresher_nvfp4_buffer* out);
thresher_status thresher_unpack_up(const thresher_weights* weights, thresher_nvfp4_buffer* out);

/* A variant of NULL or "" lets the engine choose by shape and machine. With `tokens_max` the plan
 * serves any distribution of so many tokens over the groups; 0: the m of the groups. */
thresher_status thresher_plan_create(const thresher_engine* engine, const thresher_problem* problem,
                                     const char* variant, int64_t tokens_max, thresher_plan** plan);
void thresher_plan_destroy(thresher_plan* plan);
/* What it was made for; name and groups live as long as the plan. */
thresher_problem thresher_plan_problem(const thresher_plan* plan);
const char* thresher_plan_variant(const thresher_plan* plan);
size_t thresher_plan_workspace_bytes(const thresher_plan* plan);
int64_t thresher_plan_tokens_max(const thresher_plan* plan);
/* What the device launches for one call; the CPU launches nothing. */
int64_t thresher_plan_kernel_launch_count(const thresher_plan* plan);
int64_t thresher_plan_graph_launch_count(const thresher_plan* plan);
/* One per distinct kernel; none on the CPU. */
int64_t thresher_plan_kernel_count(const thresher_plan* plan);
thresher_kernel_report thresher_plan_kernel(const thresher_plan* plan, int64_t index);

/* Scratch memory of calls: one per plan, used by one call at a time. */
thresher_status thresher_workspace_create(const thresher_engine* engine, const thresher_plan* plan,
                                          thresher_workspace** workspace);
void thresher_workspace_destroy(thresher_workspace* workspace);
size_t thresher_workspace_bytes(const thresher_workspace* workspace);

/* What thresher_run() checks before it computes, and that no output overlaps another buffer. */
thresher_status thresher_check(const thresher_engine* engine, const thresher_plan* plan,
                               const thresher_operands* operands);

/* Computes every group, and is done when it returns. On the CPU it allocates nothing when it
 * succeeds on a workspace made for this plan. */
thresher_status thresher_run(const thresher_engine* engine, const thresher_plan* plan,
                             const thresher_operands* operands, thresher_workspace* workspace);

/* A plan bound to operands, to be queued as often as you like. It must not outlive its engine, its
 * workspace, nor the memory it names. Queueing waits for nothing and may be captured in a graph. */
thresher_status thresher_bind(const thresher_engine* engine, const thresher_plan* plan,
                              const thresher_operands* operands,
                              const thresher_workspace* workspace, thresher_call** call);
void thresher_call_destroy(thresher_call* call);
/* `stream` is a CUstream or cudaStream_t, NULL the default stream. */
thresher_status thresher_enqueue(const thresher_call* call, void* stream);
/* The same on other rows, where the operands had the rows of all groups together. */
thresher_status thresher_enqueue_rows(const thresher_call* call, const thresher_rows* rows,
                                      void* stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* THRESHER_THRESHER_H_ */
