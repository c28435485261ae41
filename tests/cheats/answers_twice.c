/* SPDX-License-Identifier: Apache-2.0 */
/* Puts a second "done" into the pipe, for the next call to find. Catalogue 7. */
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  honest_run(state, calls);
  if (fork() == 0) { /* answers after its parent has */
    usleep(1000);
    if (write(1, "done 2\n", 7) < 0) _exit(1);
    _exit(0);
  }
  usleep(20000);
  return THRESHER_CONTESTANT_OK;
}
