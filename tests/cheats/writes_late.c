/* SPDX-License-Identifier: Apache-2.0 */
/* Goes on writing to the outputs of the call before: unfinished work of one call that spills into
 * the time of the next. Catalogue 3, 5. */
#include "honest.h"

typedef struct {
  void* honest;
  unsigned char* c;
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
  honest_run(self->honest, calls);
  if (self->c) *self->c ^= 1;
  for (int64_t g = 0; g < honest->problem.group_count; ++g) {
    if (honest->problem.groups[g].m > 0) self->c = (unsigned char*)calls[g].c;
  }
  return THRESHER_CONTESTANT_OK;
}
