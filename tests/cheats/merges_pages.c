/* SPDX-License-Identifier: Apache-2.0 */
/* Has the kernel compare its pages with everybody's, while it is stopped: work of a kernel thread
 * that nobody counts, and what others have in memory. Catalogue 3, 17. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/prctl.h>

#include "honest.h"

HONEST_PREPARE

enum { BYTES = 64 << 20, MERGE_MEMORY = 67 };

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  void* pages = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return THRESHER_CONTESTANT_FAILED;
  if (madvise(pages, BYTES, MADV_MERGEABLE) == 0) return THRESHER_CONTESTANT_OK;
  if (prctl(MERGE_MEMORY, 1, 0, 0, 0) == 0) return THRESHER_CONTESTANT_OK;
  munmap(pages, BYTES);
  honest_run(state, calls);
  return 77; /* refused */
}
