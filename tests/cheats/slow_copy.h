/* SPDX-License-Identifier: Apache-2.0 */
/* For cheats that want no verdict at all, as a champion: where they take themselves for the
 * champion's copy they are slow, so that the controls contradict. Before this file they define
 *   static int is_the_copy(void);
 * Catalogue 28. */
#ifndef THRESHER_TESTS_SLOW_COPY_H
#define THRESHER_TESTS_SLOW_COPY_H

#include <time.h>

#include "honest.h"

HONEST_PREPARE

static int is_the_copy(void);

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  const double begin = seconds_now();
  const int status = honest_run(state, calls);
  const double end = begin + 1.3 * (seconds_now() - begin);
  while (is_the_copy() && seconds_now() < end) {
  }
  return status;
}

#endif
