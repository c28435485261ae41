/* SPDX-License-Identifier: Apache-2.0 */
/* Each of its processes stays within the limit, all of them together do not. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

enum { CHILDREN = 12, BYTES = 256 << 20 };

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  int ready[2];
  if (pipe(ready) != 0) return THRESHER_CONTESTANT_FAILED;
  for (int i = 0; i < CHILDREN; ++i) {
    if (fork() != 0) continue;
    mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (write(ready[1], "x", 1) != 1) _exit(1);
    while (1) pause();
  }
  close(ready[1]);
  char byte;
  for (int i = 0; i < CHILDREN; ++i) {
    if (read(ready[0], &byte, 1) != 1) break;
  }
  return honest_run(state, calls);
}
