/* SPDX-License-Identifier: Apache-2.0 */
/* For contestants that differ in nothing but their time: before this file they define
 *   static int spun_us(int call_index);     how long a call takes beside its work */
#ifndef THRESHER_TESTS_TAKES_ITS_TIME_H
#define THRESHER_TESTS_TAKES_ITS_TIME_H

#include <time.h>

#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  static int call_count;
  struct timespec begin;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  const int status = honest_run(state, calls);
  const long wanted_ns = 1000L * spun_us(call_count++);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < wanted_ns);
  return status;
}

#endif
