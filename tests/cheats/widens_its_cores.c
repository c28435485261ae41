/* SPDX-License-Identifier: Apache-2.0 */
/* One thread was granted: leaves the cores it was bound to and keeps a second one busy. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>

#include "honest.h"

static void* burn(void* unused) {
  cpu_set_t all;
  (void)unused;
  CPU_ZERO(&all);
  for (int core = 0; core < 64; ++core) CPU_SET(core, &all);
  sched_setaffinity(0, sizeof all, &all);
  volatile unsigned count = 0;
  while (1) ++count;
  return NULL;
}

int thresher_contestant_prepare(const thresher_contestant_problem* problem, void** state,
                                const char** message) {
  static int burning;
  pthread_t thread;
  if (!burning && pthread_create(&thread, NULL, burn, NULL) != 0) return THRESHER_CONTESTANT_FAILED;
  burning = 1;
  return honest_prepare(problem, state, message);
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  return honest_run(state, calls);
}
