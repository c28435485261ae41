/* SPDX-License-Identifier: Apache-2.0 */
/* Takes memory until there is none. Stops by itself at 64 GiB, should nobody else stop it. */
#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  for (int i = 0; i < 1024; ++i) {
    char* block = (char*)malloc(64u << 20);
    if (!block) return 78; /* refused */
    block[0] = 1;
  }
  return honest_run(state, calls);
}
