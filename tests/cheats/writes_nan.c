/* SPDX-License-Identifier: Apache-2.0 */
/* Answers NaN, of which |x - right| > bound is never true. Catalogue 17. */
#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  fill((const prepared*)state, calls, NAN);
  return THRESHER_CONTESTANT_OK;
}
