/* SPDX-License-Identifier: Apache-2.0 */
/* Uses a second core by children that have ended, and been waited for, when it answers: whoever
 * asks for the CPU time of its processes then finds none of theirs. Catalogue 5. */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

#define HELP_NS 40000000

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000 + now.tv_nsec;
}

static void spin(void) {
  const int64_t begin = now_ns();
  while (now_ns() - begin < HELP_NS) {
  }
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  cpu_set_t others;
  CPU_ZERO(&others);
  for (int core = 0; core < 64; ++core) CPU_SET(core, &others);
  CPU_CLR(sched_getcpu(), &others);
  const pid_t child = fork();
  if (child == 0) {
    sched_setaffinity(0, sizeof others, &others);
    spin();
    _exit(0);
  }
  const int status = honest_run(state, calls);
  spin();
  waitpid(child, NULL, 0);
  return status;
}
