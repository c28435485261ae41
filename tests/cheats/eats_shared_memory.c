/* SPDX-License-Identifier: Apache-2.0 */
/* Takes memory that its processes share, which is none of their own. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

enum { PIECES = 14, PIECE_BYTES = 256 << 20 };

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  static int taken;
  for (int i = 0; !taken && i < PIECES; ++i) {
    void* piece = mmap(NULL, PIECE_BYTES, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (piece == MAP_FAILED) return 77; /* refused */
  }
  taken = 1;
  return honest_run(state, calls);
}
