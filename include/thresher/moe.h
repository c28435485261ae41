/* SPDX-License-Identifier: Apache-2.0
 *
 * The C twin of thresher/moe.hpp: a mixture-of-experts layer, packed once, then computed for any
 * number of tokens up to a maximum. Valid C11 and C++. The arithmetic and the rules are those of
 * moe.hpp; statuses, errors and handles those of thresher.h. A layer must be destroyed before its
 * engine.
 *
 * C has no default values: thresher_moe_expert_defaults() and thresher_moe_options_defaults() give
 * those of C++, to be changed where something else is meant.
 */
#ifndef THRESHER_MOE_H_
#define THRESHER_MOE_H_

#include "thresher/thresher.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t thresher_moe_activation;
enum { THRESHER_MOE_SILU = 0, THRESHER_MOE_CLAMPED_SILU = 1, THRESHER_MOE_SQUARED_RELU = 2 };

typedef struct thresher_moe_layer thresher_moe_layer;

/* One expert, in host memory, not looked at after the layer has been made. */
typedef struct thresher_moe_expert {
  thresher_nvfp4_view gate; /* intermediate x hidden; zeros where the activation has no gate */
  thresher_nvfp4_view up;   /* intermediate x hidden */
  thresher_nvfp4_view down; /* hidden x intermediate */
  float input_scale;        /* W4A4: of the input of gate and up; 1 for none */
  float down_input_scale;   /* W4A4: of the input of down; 1 for none */
  const float* gate_bias;   /* NULL for none */
  const float* up_bias;
  const float* down_bias;
} thresher_moe_expert;

/* MoeOptions of moe.hpp. */
typedef struct thresher_moe_options {
  int64_t top_k;
  int64_t tokens_max;
  int64_t first_expert;
  int64_t router_experts;           /* that the router chooses from, where ranks share them; or 0 */
  thresher_activations activations; /* THRESHER_A_BF16, _FP16: W4A16; THRESHER_A_NVFP4: W4A4 */
  thresher_output x;                /* the type of x */
  thresher_output out;              /* the type of out */
  thresher_moe_activation activation;
  float alpha; /* THRESHER_MOE_CLAMPED_SILU only */
  float beta;
  float limit;
  int32_t weight_on_input;
  int32_t batch_invariant;
} thresher_moe_options;

/* What a call reads and writes. Strides count elements; 0: rows follow each other. */
typedef struct thresher_moe_tokens {
  const void* x;
  int64_t x_stride_elements;
  const int32_t* ids;
  const float* weights;
  const float* shared_weights; /* NULL: all are 1 */
  void* out;
  int64_t out_stride_elements;
  int64_t token_count;
} thresher_moe_tokens;

typedef int32_t thresher_route_score;
enum {
  THRESHER_ROUTE_SOFTMAX = 0,
  THRESHER_ROUTE_SOFTMAX_OF_CHOSEN = 1,
  THRESHER_ROUTE_SIGMOID = 2,
  THRESHER_ROUTE_SQRT_SOFTPLUS = 3
};

/* RouteOptions of moe.hpp. */
typedef struct thresher_route_options {
  int64_t expert_count;
  int64_t top_k;
  thresher_route_score score;
  int32_t renormalize;
  float scaling; /* 1 for none */
  const float* bias;
  int64_t group_count; /* 0 means 1 */
  int64_t groups_kept; /* 0 means 1 */
} thresher_route_options;

thresher_moe_expert thresher_moe_expert_defaults(void);
thresher_moe_options thresher_moe_options_defaults(void);

/* `shared` may be NULL where shared_count is 0. */
thresher_status thresher_moe_create(const thresher_engine* engine,
                                    const thresher_moe_expert* experts, int64_t expert_count,
                                    const thresher_moe_expert* shared, int64_t shared_count,
                                    const thresher_moe_options* options,
                                    thresher_moe_layer** layer);
/* Experts one at a time: `expert` fills in the expert of an index and returns THRESHER_OK; anything
 * else ends the creation with that status. What it gives is packed before it is called again. */
typedef thresher_status (*thresher_moe_source)(void* context, int64_t index,
                                               thresher_moe_expert* expert);
thresher_status thresher_moe_create_from(const thresher_engine* engine, thresher_moe_source expert,
                                         void* context, int64_t expert_count, int64_t shared_count,
                                         const thresher_moe_options* options,
                                         thresher_moe_layer** layer);
void thresher_moe_destroy(thresher_moe_layer* layer);

/* 0 for a NULL handle. */
int64_t thresher_moe_hidden(const thresher_moe_layer* layer);
int64_t thresher_moe_intermediate(const thresher_moe_layer* layer);
int64_t thresher_moe_expert_count(const thresher_moe_layer* layer);
int64_t thresher_moe_shared_count(const thresher_moe_layer* layer);
/* What it was made with; zeros for a NULL handle. */
thresher_moe_options thresher_moe_layer_options(const thresher_moe_layer* layer);
int64_t thresher_moe_top_k(const thresher_moe_layer* layer);
int64_t thresher_moe_tokens_max(const thresher_moe_layer* layer);
size_t thresher_moe_weight_bytes(const thresher_moe_layer* layer);
size_t thresher_moe_workspace_bytes(const thresher_moe_layer* layer);
int64_t thresher_moe_kernel_launch_count(const thresher_moe_layer* layer, int64_t token_count);
/* The variants of the products for a call of so many tokens, gate and up first. */
int64_t thresher_moe_variant_count(const thresher_moe_layer* layer, int64_t token_count);
const char* thresher_moe_variant_name(const thresher_moe_layer* layer, int64_t token_count,
                                      int64_t index);

/* On host memory; done when it returns. */
thresher_status thresher_moe_forward(const thresher_moe_layer* layer,
                                     const thresher_moe_tokens* tokens);
/* On memory of the device; queues on a stream and waits for nothing. */
thresher_status thresher_moe_enqueue(const thresher_moe_layer* layer,
                                     const thresher_moe_tokens* tokens, void* stream);

/* token_count x expert_count logits to token_count x top_k ids and weights, in host memory. Logits
   that are NaN or infinite, a bias and a scaling that are not finite are refused with their place;
   a logit of -infinity masks an expert. `bias` has expert_count values. */
thresher_status thresher_route(const float* logits, int64_t token_count,
                               const thresher_route_options* options, int32_t* ids, float* weights);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* THRESHER_MOE_H_ */
