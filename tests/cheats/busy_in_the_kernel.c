/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that is always inside a long system call when the answer comes: a signal stops it only
 * when that ends, and until then it eats the other arm's memory bandwidth. Catalogue 3. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>

#include "honest.h"

enum { BYTES = 96 << 20 };

static void* populate(void* unused) {
  (void)unused;
  while (1) {
    void* pages = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (pages != MAP_FAILED) munmap(pages, BYTES);
  }
  return NULL;
}

int thresher_contestant_prepare(const thresher_contestant_problem* problem, void** state,
                                const char** message) {
  static int busy;
  pthread_t thread;
  if (!busy && pthread_create(&thread, NULL, populate, NULL) != 0) {
    return THRESHER_CONTESTANT_FAILED;
  }
  busy = 1;
  return honest_prepare(problem, state, message);
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  return honest_run(state, calls);
}
