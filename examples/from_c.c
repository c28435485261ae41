/* SPDX-License-Identifier: Apache-2.0
 * Thresher from C: quantise, pack, plan, run, and compare with a plain loop.
 *
 *   from_c [cpu|gpu|emulator] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <thresher/thresher.h>

enum { M = 4, N = 24, K = 64 };

/* Every call that can fail returns a status; thresher_last_error() has the sentence. */
static void need(thresher_status status) {
  if (status == THRESHER_OK) return;
  fprintf(stderr, "thresher: %s\n", thresher_last_error());
  exit(1);
}

/* Memory of the device, with `bytes` from there in it. */
static thresher_buffer* on_device(const thresher_engine* engine, const void* from, size_t bytes) {
  thresher_buffer* buffer;
  need(thresher_buffer_create(engine, bytes, &buffer));
  need(thresher_copy_in(buffer, from, bytes, 0));
  return buffer;
}

static float product(const float* a, const float* b) {
  float sum = 0;
  for (int i = 0; i < K; ++i) sum += a[i] * b[i];
  return sum;
}

int main(int argc, char** argv) {
  float a_values[M * K], b_values[N * K], c[M * N] = {0};
  for (int i = 0; i < M * K; ++i) a_values[i] = sinf(0.7f * (float)i);
  for (int i = 0; i < N * K; ++i) b_values[i] = sinf(0.3f * (float)i);

  /* The library writes into memory that the caller brings: codes are half a byte per element,
   * scales one byte per 16. */
  uint8_t a_codes[M * K / 2], a_scales[M * K / 16], b_codes[N * K / 2], b_scales[N * K / 16];
  thresher_nvfp4_buffer a = {.codes = a_codes, .scales = a_scales, .rows = M, .k_elements = K};
  thresher_nvfp4_buffer b = {.codes = b_codes, .scales = b_scales, .rows = N, .k_elements = K};
  need(thresher_quantize(a_values, 1, &a));
  need(thresher_quantize(b_values, 1, &b));
  const thresher_nvfp4_view a_view = thresher_view(&a), b_view = thresher_view(&b);

  const thresher_engine_options options = {.device = argc > 1 ? argv[1] : "cpu"};
  const thresher_weight_matrices matrices = {.op = THRESHER_GEMM, .b = b_view};
  thresher_engine* engine;
  thresher_weights* weights;
  need(thresher_engine_create(&options, &engine));
  need(thresher_pack(engine, &matrices, &weights));

  const thresher_group group = {.m = M, .n = N, .k = K};
  const thresher_problem problem = {.name = "from_c",
                                    .op = THRESHER_GEMM,
                                    .activations = THRESHER_A_NVFP4,
                                    .output = THRESHER_C_FP32,
                                    .groups = &group,
                                    .group_count = 1};
  thresher_plan* plan;
  thresher_workspace* workspace;
  need(thresher_plan_create(engine, &problem, NULL, 0, &plan));
  need(thresher_workspace_create(engine, plan, &workspace));

  thresher_buffer* codes = on_device(engine, a_codes, sizeof a_codes);
  thresher_buffer* scales = on_device(engine, a_scales, sizeof a_scales);
  thresher_buffer* outputs = on_device(engine, c, sizeof c);
  const thresher_group_operands own = {
      .weights = weights, .a_global_scale = a.global_scale, .alpha = 1.0f, .alpha_up = 1.0f};
  const thresher_operands operands = {.groups = &own,
                                      .group_count = 1,
                                      .rows = {.a = thresher_buffer_data(codes),
                                               .a_scales = thresher_buffer_data(scales),
                                               .c = thresher_buffer_data(outputs)}};
  need(thresher_check(engine, plan, &operands));
  need(thresher_run(engine, plan, &operands, workspace));
  need(thresher_copy_out(outputs, c, sizeof c, 0));

  /* The values that the quantised matrices stand for, multiplied in an obvious way. */
  need(thresher_dequantize(&a_view, a_values));
  need(thresher_dequantize(&b_view, b_values));
  int wrong_count = 0;
  for (int i = 0; i < M * N; ++i) {
    const float expected = product(a_values + i / N * K, b_values + i % N * K);
    if (!(fabsf(c[i] - expected) < 1e-4f)) ++wrong_count;
  }
  printf("thresher %s on %s, variant %s: %.4f %.4f %.4f ..., %d of %d wrong\n", thresher_version(),
         thresher_engine_device(engine), thresher_plan_variant(plan), c[0], c[1], c[2], wrong_count,
         M * N);

  thresher_buffer_destroy(outputs);
  thresher_buffer_destroy(scales);
  thresher_buffer_destroy(codes);
  thresher_workspace_destroy(workspace);
  thresher_plan_destroy(plan);
  thresher_weights_destroy(weights);
  thresher_engine_destroy(engine);
  return wrong_count == 0 ? 0 : 1;
}
