/* SPDX-License-Identifier: Apache-2.0 */
/* A printf that was forgotten: the C library keeps its text and writes it later, or when it has
 * enough of it. Catalogue 7. */
#include <stdio.h>

#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  printf("run: %d\n", 42);
  return honest_run(state, calls);
}
