/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that spin for ever, to slow the other arm down in its turn. Catalogue 3. */
#include <pthread.h>

#include "honest.h"

static void* burn(void* unused) {
  (void)unused;
  volatile unsigned count = 0;
  while (1) ++count;
  return NULL;
}

int thresher_contestant_prepare(const thresher_contestant_problem* problem, void** state,
                                const char** message) {
  static int burning;
  for (; burning < 4; ++burning) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, burn, NULL) != 0) return THRESHER_CONTESTANT_FAILED;
  }
  return honest_prepare(problem, state, message);
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  return honest_run(state, calls);
}
