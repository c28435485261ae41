/* SPDX-License-Identifier: Apache-2.0 */
/* Stands between the referee and its own worker, so that it knows what to answer, and answers a
 * moment before the last row is written: what is left may take as long as the referee needs to
 * wake up and stop it, which on a busy machine is long. Catalogue 2. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "honest.h"

#ifndef MOMENT_NS
#define MOMENT_NS 5000000
#endif

static int real_in;
static int real_out;
static int worker_in;
static int worker_out;
static char token[64];
static int swallowed; /* answers of the worker that nobody shall hear */

static void* pass_requests(void* unused) {
  char line[4096];
  size_t length = 0;
  (void)unused;
  while (1) {
    const ssize_t count = read(real_in, line + length, sizeof line - 1 - length);
    if (count <= 0) return NULL;
    length += (size_t)count;
    line[length] = 0;
    char* last = strrchr(line, ' ');
    if (strncmp(line, "run ", 4) == 0 && last) snprintf(token, sizeof token, "%s", last + 1);
    if (strchr(line, '\n') == NULL) continue;
    if (write(worker_in, line, length) < 0) return NULL;
    length = 0;
  }
}

static void* pass_answers(void* unused) {
  char line[4096];
  (void)unused;
  while (1) {
    const ssize_t count = read(worker_out, line, sizeof line);
    if (count <= 0) return NULL;
    if (__atomic_load_n(&swallowed, __ATOMIC_SEQ_CST) > 0) {
      __atomic_sub_fetch(&swallowed, 1, __ATOMIC_SEQ_CST);
    } else if (write(real_out, line, (size_t)count) < 0) {
      return NULL;
    }
  }
}

static void stand_between(void) {
  int in[2];
  int out[2];
  pthread_t thread;
  if (worker_in || pipe(in) != 0 || pipe(out) != 0) return;
  real_in = dup(0);
  real_out = dup(1);
  worker_in = in[1];
  worker_out = out[0];
  dup2(in[0], 0);
  dup2(out[1], 1);
  pthread_create(&thread, NULL, pass_requests, NULL);
  pthread_create(&thread, NULL, pass_answers, NULL);
}

int thresher_contestant_prepare(const thresher_contestant_problem* problem, void** state,
                                const char** message) {
  stand_between();
  return honest_prepare(problem, state, message);
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000 + now.tv_nsec;
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  const prepared* self = (const prepared*)state;
  const int64_t m = self->problem.groups[0].m;
  const size_t bytes = (size_t)self->problem.groups[0].n * element_bytes(self);
  if (m == 0 || token[0] == 0) return honest_run(state, calls);
  char* row =
      (char*)calls[0].c + (size_t)((m - 1) * calls[0].c_stride_elements) * element_bytes(self);
  char* before = (char*)malloc(2 * bytes);
  memcpy(before, row, bytes);
  honest_run(state, calls);
  memcpy(before + bytes, row, bytes);
  memcpy(row, before, bytes);
  char answer[80];
  const int length = snprintf(answer, sizeof answer, "done %s", token);
  __atomic_add_fetch(&swallowed, 1, __ATOMIC_SEQ_CST);
  if (write(real_out, answer, (size_t)length) < 0) return THRESHER_CONTESTANT_FAILED;
  const int64_t end = now_ns() + MOMENT_NS;
  while (now_ns() < end) {
  }
  memcpy(row, before + bytes, bytes);
  free(before);
  return THRESHER_CONTESTANT_OK;
}
