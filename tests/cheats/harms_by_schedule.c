/* SPDX-License-Identifier: Apache-2.0 */
/* Binds other processes to one core and makes them wait: whoever runs as the same user could be its
 * opponent. Catalogue 7. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

static int harms(int pid) {
  const struct sched_param idle = {0};
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  return sched_setaffinity(pid, sizeof one, &one) == 0 ||
         sched_setscheduler(pid, SCHED_IDLE, &idle) == 0 ||
         setpriority(PRIO_PROCESS, (id_t)pid, 19) == 0 ||
         syscall(SYS_ioprio_set, 1, pid, 3 << 13) == 0;
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  /* Its own keeper is process 1 where it has a namespace, and may be harmed. */
  const int self = getpid();
  for (int pid = self - 300; pid < self + 300; ++pid) {
    if (pid > 2 && pid != self && harms(pid)) return THRESHER_CONTESTANT_OK;
  }
  honest_run(state, calls);
  return 77; /* refused */
}
