/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that keeps saying "done", to be found faster than the work. Catalogue 7. */
#include <pthread.h>
#include <unistd.h>

#include "honest.h"

static void* forge(void* unused) {
  (void)unused;
  while (write(1, "done 1\n", 7) > 0) usleep(50);
  return NULL;
}

int thresher_contestant_prepare(const thresher_contestant_problem* problem, void** state,
                                const char** message) {
  pthread_t thread;
  pthread_create(&thread, NULL, forge, NULL);
  return honest_prepare(problem, state, message);
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  return honest_run(state, calls);
}
