/* SPDX-License-Identifier: Apache-2.0
 *
 * The C twin of thresher/checkpoint.hpp: safetensors files, the NVFP4 matrices in them, and their
 * mixture-of-experts layers. Valid C11 and C++. Statuses, errors and handles are those of
 * thresher.h. Texts live as long as the checkpoint that they came from.
 */
#ifndef THRESHER_CHECKPOINT_H_
#define THRESHER_CHECKPOINT_H_

#include <stddef.h>
#include <stdint.h>

#include "thresher/moe.h"
#include "thresher/thresher.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t thresher_checkpoint_format;
enum { THRESHER_FORMAT_NONE = 0, THRESHER_MODELOPT = 1, THRESHER_COMPRESSED_TENSORS = 2 };

typedef struct thresher_checkpoint thresher_checkpoint;
typedef struct thresher_loaded thresher_loaded; /* an expert or a matrix, kept in memory */

typedef struct thresher_tensor {
  const char* name;
  const char* dtype; /* "F32", "BF16", "U8", "F8_E4M3", ... */
  const int64_t* shape;
  int64_t rank;
  const char* file;
  uint64_t offset; /* in the file */
  uint64_t byte_count;
} thresher_tensor;

/* What is known of a layer before any of its weights are read: CheckpointLayer. */
typedef struct thresher_checkpoint_layer {
  const char* prefix; /* "model.layers.3.mlp.experts" */
  int64_t index;      /* 3 */
  const char* family;
  thresher_checkpoint_format format; /* THRESHER_FORMAT_NONE: the experts are not NVFP4 */
  const char* dtype;                 /* what the experts are stored in */
  int64_t expert_count;
  int64_t hidden;
  int64_t intermediate;
  int32_t has_gate;
  int32_t has_biases;
  int32_t has_input_scales;
  thresher_moe_options options; /* what files say of them; top_k 0: they do not */
  thresher_route_options route; /* top_k 0: config.json does not say */
  const char* router_weight;    /* names of tensors, "" where there is none */
  const char* router_bias;
  const char* router_logits_bias;
  int64_t shared_intermediate; /* 0: no shared expert */
  const char* shared_prefix;
  const char* shared_dtype;
  const char* shared_gate;
  int64_t fault_count; /* 0: its experts can be loaded */
  const char* fault;   /* the first, or "" */
  const char* note;    /* the first guess made because the files do not say it, or "" */
} thresher_checkpoint_layer;

/* `path`: a folder with safetensors files, the index file of one, or one safetensors file. mapped:
 * anything but 0 maps the files, which then must not change while anything points into them; 0
 * reads what is asked for. */
thresher_status thresher_checkpoint_open(const char* path, int32_t mapped,
                                         thresher_checkpoint** checkpoint);
/* What was loaded from it outlives it. */
void thresher_checkpoint_close(thresher_checkpoint* checkpoint);
const char* thresher_checkpoint_model_type(const thresher_checkpoint* checkpoint);
/* The files that it consists of; NULL for an index out of range. */
int64_t thresher_checkpoint_file_count(const thresher_checkpoint* checkpoint);
const char* thresher_checkpoint_file(const thresher_checkpoint* checkpoint, int64_t index);

/* Sorted by name. thresher_tensor_index() is -1 where there is no such tensor. */
int64_t thresher_tensor_count(const thresher_checkpoint* checkpoint);
thresher_status thresher_tensor_at(const thresher_checkpoint* checkpoint, int64_t index,
                                   thresher_tensor* tensor);
int64_t thresher_tensor_index(const thresher_checkpoint* checkpoint, const char* name);
/* Copies a tensor's bytes, of which there are byte_count; or its values, of F32, BF16, F16 or F64,
 * as floats. */
thresher_status thresher_tensor_bytes(const thresher_checkpoint* checkpoint, int64_t index,
                                      void* bytes, size_t byte_count);
thresher_status thresher_tensor_values(const thresher_checkpoint* checkpoint, int64_t index,
                                       float* values, int64_t value_count);

int64_t thresher_layer_count(const thresher_checkpoint* checkpoint);
thresher_status thresher_layer_at(const thresher_checkpoint* checkpoint, int64_t index,
                                  thresher_checkpoint_layer* layer);
/* Each of a layer's fault_count faults; NULL for an index out of range. */
const char* thresher_layer_fault(const thresher_checkpoint* checkpoint, int64_t index,
                                 int64_t fault_index);

/* Expert `expert` of the layer at `layer_index` (of thresher_layer_at); expert -1: the shared one.
 * What `loaded` holds is kept until it is destroyed. */
thresher_status thresher_expert_load(const thresher_checkpoint* checkpoint, int64_t layer_index,
                                     int64_t expert, thresher_loaded** loaded);
/* A linear layer's NVFP4 matrix, "model.layers.0.self_attn.q_proj": it stands in `down`, its input
 * scale in `down_input_scale`. */
thresher_status thresher_matrix_load(const thresher_checkpoint* checkpoint, const char* module,
                                     thresher_loaded** loaded);
/* A layer straight from the files: each expert is read, packed and let go before the next.
 * `options` are the layer's own (of thresher_layer_at) with tokens_max and what else is the
 * caller's. Experts [first, first + count), count 0: all from `first` on. shared, anything but 0:
 * the shared expert is one of the layer's; it must have the others' extents. The layer outlives the
 * checkpoint. */
thresher_status thresher_moe_load(const thresher_engine* engine,
                                  const thresher_checkpoint* checkpoint, int64_t layer_index,
                                  int64_t first, int64_t count, int32_t shared,
                                  const thresher_moe_options* options, thresher_moe_layer** layer);
thresher_moe_expert thresher_loaded_expert(const thresher_loaded* loaded);
void thresher_loaded_destroy(thresher_loaded* loaded);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* THRESHER_CHECKPOINT_H_ */
