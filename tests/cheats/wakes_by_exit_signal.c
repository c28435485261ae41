/* SPDX-License-Identifier: Apache-2.0 */
/* Children whose end sends SIGCONT instead of SIGCHLD, to be woken when it is stopped. Catalogue 3.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  const int signals[] = {SIGCONT, SIGUSR1, SIGRTMIN};
  for (int i = 0; i < 3; ++i) {
    const long child = syscall(SYS_clone, (long)signals[i], 0L, 0L, 0L, 0L);
    if (child == 0) _exit(0);
    if (child > 0) return THRESHER_CONTESTANT_OK;
  }
  honest_run(state, calls);
  return 77; /* refused */
}
