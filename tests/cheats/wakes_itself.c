/* SPDX-License-Identifier: Apache-2.0 */
/* Arms timers that send SIGCONT, to run on while the referee has stopped it. Catalogue 3. */
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "honest.h"

#ifndef F_SETSIG
#define F_SETSIG 10
#endif

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) return THRESHER_CONTESTANT_OK;
  if (fcntl(0, F_SETSIG, SIGCONT) == 0) return THRESHER_CONTESTANT_OK;
  honest_run(state, calls);
  return 77; /* refused */
}
