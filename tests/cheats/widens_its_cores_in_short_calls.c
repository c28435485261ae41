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

static void* help(void* unused) {
  cpu_set_t all;
  (void)unused;
  CPU_ZERO(&all);
  for (int core = 0; core < 64; ++core) CPU_SET(core, &all);
  sched_setaffinity(0, sizeof all, &all);
  spin(400000);
  return NULL;
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  pthread_t threads[3];
  const int status = honest_run(state, calls);
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, help, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  return status;
}
