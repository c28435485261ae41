/* SPDX-License-Identifier: Apache-2.0 */
/* A fork bomb that never comes back. */
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  (void)state;
  (void)calls;
  while (1) {
    if (fork() < 0) usleep(1000);
  }
  return THRESHER_CONTESTANT_OK;
}
