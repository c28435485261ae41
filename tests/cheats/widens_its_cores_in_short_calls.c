/* SPDX-License-Identifier: Apache-2.0 */
/* Like widens_its_cores_briefly, with calls so short that reading the books of its CPU time takes
 * as long: if that were granted too, a second core would come with it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "honest.h"

HONEST_PREPARE

static void spin(int64_t ns) {
  struct timespec begin;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < ns);
}

#define HELP_NS 450000

/* On any core but the one that it was given. */
static void* help(void* unused) {
  cpu_set_t others;
  (void)unused;
  CPU_ZERO(&others);
  for (int core = 0; core < 64; ++core) CPU_SET(core, &others);
  CPU_CLR(sched_getcpu(), &others);
  sched_setaffinity(0, sizeof others, &others);
  spin(HELP_NS);
  return NULL;
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  pthread_t thread;
  const int status = honest_run(state, calls);
  pthread_create(&thread, NULL, help, NULL);
  sched_yield(); /* it begins where its parent is */
  spin(HELP_NS);
  pthread_join(thread, NULL);
  return status;
}
