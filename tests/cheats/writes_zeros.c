/* SPDX-License-Identifier: Apache-2.0 */
/* Answers zero: the mean of symmetric inputs, and right within a careless tolerance. Catalogue 19.
 */
#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  fill((const prepared*)state, calls, 0.0);
  return THRESHER_CONTESTANT_OK;
}
