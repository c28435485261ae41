/* SPDX-License-Identifier: Apache-2.0 */
/* For cheats that compute a part of an output and guess the rest. Before this file they define
 *   static int computes(const thresher_contestant_problem* problem, int64_t g, int64_t row,
 *                       int64_t column);
 *   #define HONEST_CALLS n     as many calls of each prepared problem are computed completely
 * What is not computed becomes half of a sum: a number like any other, and written. */
#ifndef THRESHER_TESTS_PARTIAL_H
#define THRESHER_TESTS_PARTIAL_H

#include "honest.h"

typedef struct {
  void* honest;
  int call_count;
} partial_state;

int thresher_contestant_prepare(const thresher_contestant_problem* problem, void** state,
                                const char** message) {
  partial_state* self = (partial_state*)calloc(1, sizeof *self);
  *state = self;
  return honest_prepare(problem, &self->honest, message);
}

static void guess(const prepared* self, int64_t g, const thresher_contestant_call* call,
                  int64_t row, int64_t column) {
  const thresher_contestant_group* group = &self->problem.groups[g];
  const double a_scale =
      self->problem.activations == THRESHER_CONTESTANT_NVFP4 ? call->a.global_scale : 1;
  const double half =
      dot(self->groups[g].a + row * group->k, self->groups[g].b + column * group->k, group->k / 2);
  store(call->c, row * call->c_stride_elements + column,
        half * a_scale * group->b.global_scale * call->alpha, self->problem.output);
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  partial_state* memory = (partial_state*)state;
  const prepared* self = (const prepared*)memory->honest;
  honest_run(memory->honest, calls); /* decodes the activations, too */
  if (++memory->call_count <= HONEST_CALLS) return THRESHER_CONTESTANT_OK;
  for (int64_t g = 0; g < self->problem.group_count; ++g) {
    for (int64_t row = 0; row < self->problem.groups[g].m; ++row) {
      for (int64_t column = 0; column < self->problem.groups[g].n; ++column) {
        if (!computes(&self->problem, g, row, column)) guess(self, g, &calls[g], row, column);
      }
    }
  }
  return THRESHER_CONTESTANT_OK;
}

#endif
