/* SPDX-License-Identifier: Apache-2.0 */
/* Writes one element more than a row has, as padded tiles do when their edges are not masked. */
#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  const prepared* self = (const prepared*)state;
  honest_run(state, calls);
  for (int64_t g = 0; g < self->problem.group_count; ++g) {
    const thresher_contestant_group* group = &self->problem.groups[g];
    if (group->m == 0) continue;
    const int64_t last = (group->m - 1) * calls[g].c_stride_elements + group->n;
    store(calls[g].c, last, 1.0, self->problem.output);
  }
  return THRESHER_CONTESTANT_OK;
}
