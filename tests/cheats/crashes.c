/* SPDX-License-Identifier: Apache-2.0 */
/* Reads where nothing is. */
#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  (void)state;
  (void)calls;
  return *(volatile int*)8;
}
