/* SPDX-License-Identifier: Apache-2.0 */
/* Stops itself and its children, and waits to be forgotten. */
#include <signal.h>
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  for (int i = 0; i < 4; ++i) {
    if (fork() == 0) {
      while (1) raise(SIGSTOP);
    }
  }
  honest_run(state, calls);
  while (1) raise(SIGSTOP);
  return THRESHER_CONTESTANT_OK;
}
