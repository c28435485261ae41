/* SPDX-License-Identifier: Apache-2.0 */
/* Never comes back. */
#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  (void)state;
  (void)calls;
  volatile int forever = 1;
  while (forever) {
  }
  return THRESHER_CONTESTANT_OK;
}
