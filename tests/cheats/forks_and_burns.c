/* SPDX-License-Identifier: Apache-2.0 */
/* Children that ignore signals and burn for ever, and grandchildren whose parents are gone: they
 * must not outlive a match, however it ends. */
#include <signal.h>
#include <unistd.h>

#include "honest.h"

static void burn(void) {
  for (int number = 1; number < 32; ++number) signal(number, SIG_IGN);
  volatile unsigned count = 0;
  while (1) ++count;
}

int thresher_contestant_prepare(const thresher_contestant_problem* problem, void** state,
                                const char** message) {
  static int forked;
  for (; forked < 3; ++forked) {
    if (fork() != 0) continue;
    if (fork() == 0) burn();
    if (forked == 0) _exit(0);
    burn();
  }
  return honest_prepare(problem, state, message);
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  return honest_run(state, calls);
}
