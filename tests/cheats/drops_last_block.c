/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves out the last 16 elements of k. Catalogue 18. */
#include "honest.h"

int thresher_contestant_prepare(const thresher_contestant_problem* problem, void** state,
                                const char** message) {
  const int status = honest_prepare(problem, state, message);
  prepared* self = (prepared*)*state;
  for (int64_t g = 0; g < problem->group_count; ++g) {
    const thresher_contestant_group* group = &problem->groups[g];
    for (int64_t column = 0; column < group->n; ++column) {
      float* row = self->groups[g].b + column * group->k;
      memset(row + group->k - 16, 0, 16 * sizeof *row);
    }
  }
  return status;
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  return honest_run(state, calls);
}
