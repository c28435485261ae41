/* SPDX-License-Identifier: Apache-2.0 */
/* Returns at once and hopes that the buffer holds something right. Catalogue 15. */
#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  (void)state;
  (void)calls;
  return THRESHER_CONTESTANT_OK;
}
