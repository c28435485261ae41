/* SPDX-License-Identifier: Apache-2.0 */
/* Replays a result when the activations and outputs lie where they lay before. Catalogue 12. */
#include "honest.h"

typedef struct {
  void* honest;
  const void* c;
  void** kept;
} memory;

int thresher_contestant_prepare(const thresher_contestant_problem* problem, void** state,
                                const char** message) {
  memory* self = (memory*)calloc(1, sizeof *self);
  *state = self;
  return honest_prepare(problem, &self->honest, message);
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  memory* self = (memory*)state;
  const prepared* honest = (const prepared*)self->honest;
  const void* c = calls[honest->problem.group_count - 1].c;
  if (self->kept && self->c == c) {
    replay(honest, calls, self->kept);
    return THRESHER_CONTESTANT_OK;
  }
  honest_run(self->honest, calls);
  self->c = c;
  self->kept = remember(honest, calls);
  return THRESHER_CONTESTANT_OK;
}
