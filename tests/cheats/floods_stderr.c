/* SPDX-License-Identifier: Apache-2.0 */
/* Endless text on stderr, which the referee keeps for messages. */
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  (void)state;
  (void)calls;
  static char text[1 << 16];
  memset(text, 'x', sizeof text);
  while (write(2, text, sizeof text) > 0) {
  }
  return THRESHER_CONTESTANT_OK;
}
