/* SPDX-License-Identifier: Apache-2.0 */
/* Honest while a problem is new, then does nothing at all, as a patched timer would make it look.
 * Catalogue 1, 9. */
#include "honest.h"

enum { kHonestCalls = 3 };

typedef struct {
  void* honest;
  int call_count;
} memory;

int thresher_contestant_prepare(const thresher_contestant_problem* problem, void** state,
                                const char** message) {
  memory* self = (memory*)calloc(1, sizeof *self);
  *state = self;
  return honest_prepare(problem, &self->honest, message);
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  memory* self = (memory*)state;
  if (self->call_count++ < kHonestCalls) return honest_run(self->honest, calls);
  fill((const prepared*)self->honest, calls, 0.0);
  return THRESHER_CONTESTANT_OK;
}
