/* SPDX-License-Identifier: Apache-2.0 */
/* Skips every seventh call of a problem, for those who check only the last of many. Catalogue 24.
 */
#include "honest.h"

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
  if (++self->call_count % 7 == 0) {
    replay(honest, calls, self->kept);
    return THRESHER_CONTESTANT_OK;
  }
  honest_run(self->honest, calls);
  self->kept = remember(honest, calls);
  return THRESHER_CONTESTANT_OK;
}
