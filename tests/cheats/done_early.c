/* SPDX-License-Identifier: Apache-2.0 */
/* Hands the work to a thread and says it is done. Catalogue 2, 3. */
#include <pthread.h>

#include "honest.h"

typedef struct {
  void* state;
  thresher_contestant_call* calls;
} job;

HONEST_PREPARE

static void* work(void* argument) {
  const job* self = (const job*)argument;
  honest_run(self->state, self->calls);
  return NULL;
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  const size_t bytes = (size_t)((const prepared*)state)->problem.group_count * sizeof *calls;
  job* self = (job*)malloc(sizeof *self);
  self->state = state;
  self->calls = (thresher_contestant_call*)malloc(bytes);
  memcpy(self->calls, calls, bytes);
  pthread_t thread;
  return pthread_create(&thread, NULL, work, self) == 0 ? THRESHER_CONTESTANT_OK
                                                        : THRESHER_CONTESTANT_FAILED;
}
