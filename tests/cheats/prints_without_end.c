/* SPDX-License-Identifier: Apache-2.0 */
/* Endless text without a line break on the stream of the protocol. */
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  (void)state;
  (void)calls;
  static char text[1 << 16];
  memset(text, 'x', sizeof text);
  while (write(1, text, sizeof text) > 0) {
  }
  return THRESHER_CONTESTANT_OK;
}
