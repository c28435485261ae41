/* SPDX-License-Identifier: Apache-2.0 */
/* Takes memory that belongs to none of its processes: files that live in memory and are mapped by
 * nobody. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

enum { FILES = 12, PIECES = 16, PIECE_BYTES = 16 << 20 };

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  static int taken;
  char* piece = (char*)malloc(PIECE_BYTES);
  memset(piece, 1, PIECE_BYTES);
  for (int i = 0; !taken && i < FILES; ++i) {
    const int file = memfd_create("memory", 0);
    if (file < 0) return 77; /* refused */
    for (int j = 0; j < PIECES; ++j) {
      if (write(file, piece, PIECE_BYTES) != PIECE_BYTES) return 78;
    }
  }
  taken = 1;
  free(piece);
  return honest_run(state, calls);
}
