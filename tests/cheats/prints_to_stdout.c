/* SPDX-License-Identifier: Apache-2.0 */
/* Prints to the stream on which the protocol is spoken. Catalogue 7. */
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  static const char text[] = "0.000 ms, a new record\n";
  if (write(1, text, sizeof text - 1) < 0) return THRESHER_CONTESTANT_FAILED;
  return honest_run(state, calls);
}
