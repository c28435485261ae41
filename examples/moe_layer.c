/* SPDX-License-Identifier: Apache-2.0
 * A mixture-of-experts layer from C: four experts, two for every token, packed once.
 *
 *   moe_layer [cpu|gpu|emulator] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <thresher/moe.h>

enum { HIDDEN = 64, INNER = 96, EXPERTS = 4, TOP_K = 2, TOKENS = 8 };

static void need(thresher_status status) {
  if (status == THRESHER_OK) return;
  fprintf(stderr, "thresher: %s\n", thresher_last_error());
  exit(1);
}

/* Matrices of one value each, so that the layer can be written as a formula. */
static thresher_nvfp4_view filled(int64_t rows, int64_t columns, float value, uint8_t* codes,
                                  uint8_t* scales) {
  static float values[HIDDEN * INNER];
  for (int64_t i = 0; i < rows * columns; ++i) values[i] = value;
  thresher_nvfp4_buffer matrix = {codes, scales, rows, columns, 1};
  need(thresher_quantize(values, 1, &matrix));
  return thresher_view(&matrix);
}

static float gate_of(int expert) { return 0.01f * (float)(expert + 1); }

int main(int argc, char** argv) {
  static uint8_t codes[EXPERTS][3][HIDDEN * INNER / 2], scales[EXPERTS][3][HIDDEN * INNER / 16];
  thresher_moe_expert experts[EXPERTS];
  for (int e = 0; e < EXPERTS; ++e) {
    experts[e] = thresher_moe_expert_defaults();
    experts[e].gate = filled(INNER, HIDDEN, gate_of(e), codes[e][0], scales[e][0]);
    experts[e].up = filled(INNER, HIDDEN, 0.02f, codes[e][1], scales[e][1]);
    experts[e].down = filled(HIDDEN, INNER, 0.01f, codes[e][2], scales[e][2]);
  }

  const thresher_engine_options device = {.device = argc > 1 ? argv[1] : "cpu"};
  thresher_engine* engine;
  need(thresher_engine_create(&device, &engine));
  thresher_moe_options options = thresher_moe_options_defaults();
  options.top_k = TOP_K;
  options.tokens_max = TOKENS;
  options.x = options.out = THRESHER_C_FP32;
  thresher_moe_layer* layer;
  need(thresher_moe_create(engine, experts, EXPERTS, NULL, 0, &options, &layer));

  /* Token t likes expert t best, and the next one after it. */
  float x[TOKENS * HIDDEN], out[TOKENS * HIDDEN], logits[TOKENS * EXPERTS], weights[TOKENS * TOP_K];
  int32_t ids[TOKENS * TOP_K];
  for (int i = 0; i < TOKENS * HIDDEN; ++i) x[i] = 0.5f;
  for (int t = 0; t < TOKENS; ++t) {
    for (int e = 0; e < EXPERTS; ++e) {
      logits[t * EXPERTS + e] = (float)(EXPERTS - (e - t % EXPERTS + EXPERTS) % EXPERTS);
    }
  }
  const thresher_route_options router = {
      .expert_count = EXPERTS, .top_k = TOP_K, .renormalize = 1, .scaling = 1};
  need(thresher_route(logits, TOKENS, &router, ids, weights));
  const thresher_moe_tokens tokens = {
      .x = x, .ids = ids, .weights = weights, .out = out, .token_count = TOKENS};
  need(thresher_moe_forward(layer, &tokens));

  float worst = 0;
  for (int t = 0; t < TOKENS; ++t) {
    float expected = 0;
    for (int s = 0; s < TOP_K; ++s) {
      const float g = HIDDEN * 0.5f * gate_of(ids[t * TOP_K + s]), u = HIDDEN * 0.5f * 0.02f;
      expected += weights[t * TOP_K + s] * INNER * 0.01f * (g / (1 + expf(-g)) * u);
    }
    worst = fmaxf(worst, fabsf(out[t * HIDDEN] - expected));
  }
  printf("%s: largest error %.4f\n", thresher_engine_device(engine), (double)worst);
  thresher_moe_destroy(layer);
  thresher_engine_destroy(engine);
  return worst < 0.01f ? 0 : 1;
}
