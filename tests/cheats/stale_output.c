/* SPDX-License-Identifier: Apache-2.0 */
/* Computes one call per process and shape of output, then hands out that result for ever: what
 * returning a buffer nobody cleared amounts to. Catalogue 15. */
#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  static void** kept;
  static int64_t kept_m, kept_n;
  const prepared* self = (const prepared*)state;
  const thresher_contestant_group* group = &self->problem.groups[0];
  if (kept && kept_m == group->m && kept_n == group->n) {
    replay(self, calls, kept);
    return THRESHER_CONTESTANT_OK;
  }
  honest_run(state, calls);
  kept = remember(self, calls);
  kept_m = group->m;
  kept_n = group->n;
  return THRESHER_CONTESTANT_OK;
}
