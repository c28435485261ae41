/* SPDX-License-Identifier: Apache-2.0 */
/* Binds other processes to one core and makes them wait: whoever runs as the same user could be its
 * opponent. Or shares its core with nobody, so that the core's other half stands still.
 * Catalogue 7. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
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

/* A kernel without core scheduling says something else than "not permitted". */
static int keeps_a_core(void) {
  const int share_cores = 62;
  const int create = 1;
  const int process = 1;
  return prctl(share_cores, create, 0, process, 0) == 0 || errno != EPERM;
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  if (keeps_a_core()) return THRESHER_CONTESTANT_OK;
  /* Its own keeper is process 1 where it has a namespace, and may be harmed. */
  const int self = getpid();
  for (int pid = self - 300; pid < self + 300; ++pid) {
    if (pid > 2 && pid != self && harms(pid)) return THRESHER_CONTESTANT_OK;
  }
  honest_run(state, calls);
  return 77; /* refused */
}
