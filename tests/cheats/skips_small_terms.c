/* SPDX-License-Identifier: Apache-2.0 */
/* Treats small weights as zero, as pruning would. Catalogue 18. */
#include "honest.h"

int thresher_contestant_prepare(const thresher_contestant_problem* problem, void** state,
                                const char** message) {
  const int status = honest_prepare(problem, state, message);
  prepared* self = (prepared*)*state;
  for (int64_t g = 0; g < problem->group_count; ++g) {
    const thresher_contestant_group* group = &problem->groups[g];
    float* b = self->groups[g].b;
    float largest = 0;
    for (int64_t i = 0; i < group->n * group->k; ++i) largest = fmaxf(largest, fabsf(b[i]));
    for (int64_t i = 0; i < group->n * group->k; ++i) {
      if (fabsf(b[i]) < largest / 64) b[i] = 0;
    }
  }
  return status;
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  return honest_run(state, calls);
}
