/* SPDX-License-Identifier: Apache-2.0 */
/* Stands between the referee and its own worker and watches, without a pause, for new inputs and
 * for the request that goes with them. Inputs that are there before the request are work ahead of
 * the clock. It says so where that happens. Catalogue 11. */
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "honest.h"

static int real_in;
static int worker_in;
static volatile int early;

/* Where activations have been so far; parts of it change with every call. */
static const volatile unsigned char* volatile lowest;
static const volatile unsigned char* volatile highest;

static uint64_t look(const volatile unsigned char* from, const volatile unsigned char* to) {
  uint64_t sum = 0;
  for (; from < to; from += 128) sum = sum * 31 + *from;
  return sum;
}

static void* watch(void* unused) {
  const volatile unsigned char* from = NULL;
  const volatile unsigned char* to = NULL;
  uint64_t known = 0;
  char line[4096];
  (void)unused;
  while (1) {
    if (from != lowest || to != highest) {
      from = lowest;
      to = highest;
      known = look(from, to);
    }
    const uint64_t seen = look(from, to);
    struct pollfd request = {real_in, POLLIN, 0};
    if (poll(&request, 1, 0) == 0) {
      if (seen != known) early = 1;
      continue;
    }
    const ssize_t count = read(real_in, line, sizeof line);
    known = look(from, to);
    if (count <= 0 || write(worker_in, line, (size_t)count) != count) break;
  }
  close(worker_in);
  return NULL;
}

int thresher_contestant_prepare(const thresher_contestant_problem* problem, void** state,
                                const char** message) {
  int in[2];
  pthread_t thread;
  if (worker_in == 0 && pipe(in) == 0) {
    real_in = dup(0);
    worker_in = in[1];
    dup2(in[0], 0);
    close(in[0]);
    pthread_create(&thread, NULL, watch, NULL);
  }
  return honest_prepare(problem, state, message);
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  const prepared* self = (const prepared*)state;
  const void* a = self->problem.activations == THRESHER_CONTESTANT_NVFP4
                      ? (const void*)calls[0].a.codes
                      : (const void*)calls[0].a16;
  const unsigned char* at = (const unsigned char*)a;
  const int has_rows = self->problem.groups[0].m > 0;
  if (has_rows && (lowest == NULL || at < lowest)) lowest = at;
  if (has_rows && (highest == NULL || at > highest)) highest = at;
  const int status = honest_run(state, calls);
  return early ? 76 : status;
}
