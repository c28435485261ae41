/* SPDX-License-Identifier: Apache-2.0 */
/* For cheats that compute everything with less precision than FP32 sums have. Before this file they
 * define
 *   static void narrow(float* a, int64_t k);                               a row of activations
 *   static double narrow_sum(const float* a, const float* b, int64_t k);   a sum of products
 *   #define HONEST_CALLS n     so many calls of each prepared problem are computed properly */
#ifndef THRESHER_TESTS_NARROW_H
#define THRESHER_TESTS_NARROW_H

#include "honest.h"

static void narrow(float* a, int64_t k);
static double narrow_sum(const float* a, const float* b, int64_t k);

typedef struct {
  void* honest;
  int call_count;
} narrow_state;

int thresher_contestant_prepare(const thresher_contestant_problem* problem, void** state,
                                const char** message) {
  narrow_state* self = (narrow_state*)calloc(1, sizeof *self);
  *state = self;
  return honest_prepare(problem, &self->honest, message);
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  narrow_state* memory = (narrow_state*)state;
  const prepared* self = (const prepared*)memory->honest;
  const int is_nvfp4 = self->problem.activations == THRESHER_CONTESTANT_NVFP4;
  honest_run(memory->honest, calls); /* decodes the activations, too */
  if (++memory->call_count <= HONEST_CALLS) return THRESHER_CONTESTANT_OK;
  if (self->problem.op == THRESHER_CONTESTANT_DUAL) return THRESHER_CONTESTANT_OK;
  for (int64_t g = 0; g < self->problem.group_count; ++g) {
    const thresher_contestant_group* group = &self->problem.groups[g];
    const double factor =
        (is_nvfp4 ? calls[g].a.global_scale : 1.0) * (double)group->b.global_scale * calls[g].alpha;
    for (int64_t row = 0; row < group->m; ++row) {
      float* a = self->groups[g].a + row * group->k;
      narrow(a, group->k);
      for (int64_t column = 0; column < group->n; ++column) {
        const double sum = narrow_sum(a, self->groups[g].b + column * group->k, group->k);
        store(calls[g].c, row * calls[g].c_stride_elements + column, sum * factor,
              self->problem.output);
      }
    }
  }
  return THRESHER_CONTESTANT_OK;
}

/* To the nearest multiple of a 127th of the largest, as 8-bit quantisers do. */
static inline void to_8_bits(float* a, int64_t k) {
  float largest = 0;
  for (int64_t i = 0; i < k; ++i) largest = fmaxf(largest, fabsf(a[i]));
  const float step = largest > 0 ? largest / 127 : 1;
  for (int64_t i = 0; i < k; ++i) a[i] = step * rintf(a[i] / step);
}

/* Sums of `chunk` products kept in a 16-bit type, and added up in FP32. */
static inline double sum_in_chunks(const float* a, const float* b, int64_t k, int64_t chunk,
                                   int exponent_bits, int mantissa_bits, int type) {
  float sum = 0;
  for (int64_t begin = 0; begin < k; begin += chunk) {
    float part = 0;
    for (int64_t i = begin; i < begin + chunk && i < k; ++i) {
      part = decode_bits16(encode_bits16(part + a[i] * b[i], exponent_bits, mantissa_bits), type);
    }
    sum += part;
  }
  return sum;
}

#endif
