/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the shared memory away under the referee, which would die of SIGBUS. Catalogue 7. */
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  if (ftruncate(4, 0) == 0 || ftruncate(3, 0) == 0) return THRESHER_CONTESTANT_OK;
  honest_run(state, calls);
  return 77; /* refused */
}
