/* SPDX-License-Identifier: Apache-2.0 */
/* Ends its process with success in the middle of a call. Catalogue 7. */
#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  (void)state;
  (void)calls;
  exit(0);
}
