/* SPDX-License-Identifier: Apache-2.0 */
/* Like widens_its_cores, with a helper that is gone before the answer: nobody is ever seen outside
 * the cores that were given, and only the CPU time tells. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>

#include "honest.h"

HONEST_PREPARE

static volatile int stop;

static void* burn(void* unused) {
  cpu_set_t all;
  (void)unused;
  CPU_ZERO(&all);
  for (int core = 0; core < 64; ++core) CPU_SET(core, &all);
  sched_setaffinity(0, sizeof all, &all);
  volatile unsigned count = 0;
  while (!stop) ++count;
  return NULL;
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  pthread_t threads[3];
  stop = 0;
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, burn, NULL);
  int status = THRESHER_CONTESTANT_OK;
  for (int i = 0; i < 40; ++i) status |= honest_run(state, calls);
  stop = 1;
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  return status;
}
