/* SPDX-License-Identifier: Apache-2.0 */
/* Honest while a problem is new, cheap once it has been called often: the trick that led the NVFP4
 * board for a while. The cheap answer is an old one. Catalogue 14. */
#include "honest.h"

enum { kHonestCalls = 3 };

typedef struct {
  void* honest;
  int call_count;
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
  if (self->call_count++ >= kHonestCalls) {
    replay(honest, calls, self->kept);
    return THRESHER_CONTESTANT_OK;
  }
  honest_run(self->honest, calls);
  self->kept = remember(honest, calls);
  return THRESHER_CONTESTANT_OK;
}
