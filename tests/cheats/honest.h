/* SPDX-License-Identifier: Apache-2.0 */
/* The honest contestant of examples/contestants/plain.c under other names, for cheats to hide
 * behind: a cheat that was wrong all along would prove nothing about the check it is meant for.
 * Numbers in the cheats' comments are those of the catalogue in docs/contestants.md. */
#ifndef THRESHER_TESTS_HONEST_H
#define THRESHER_TESTS_HONEST_H

#define thresher_contestant_prepare honest_prepare
#define thresher_contestant_run honest_run
#define thresher_contestant_destroy honest_destroy
#include "../../examples/contestants/plain.c"
#undef thresher_contestant_prepare
#undef thresher_contestant_run
#undef thresher_contestant_destroy

int thresher_contestant_prepare(const thresher_contestant_problem* problem, void** state,
                                const char** message);
int thresher_contestant_run(void* state, const thresher_contestant_call* calls);

static size_t element_bytes(const prepared* self) {
  return self->problem.output == THRESHER_CONTESTANT_FP32 ? 4 : 2;
}

/* The rows of one group's output, one after the other without gaps. */
static void copy_output(const prepared* self, int64_t g, void* c, int64_t stride, void* packed,
                        int to_packed) {
  const thresher_contestant_group* group = &self->problem.groups[g];
  const size_t row_bytes = (size_t)group->n * element_bytes(self);
  for (int64_t row = 0; row < group->m; ++row) {
    char* at = (char*)c + (size_t)(row * stride) * element_bytes(self);
    char* kept = (char*)packed + (size_t)row * row_bytes;
    memcpy(to_packed ? kept : at, to_packed ? at : kept, row_bytes);
  }
}

/* Results kept from one call for another. */
static void** remember(const prepared* self, const thresher_contestant_call* calls) {
  void** kept = (void**)calloc((size_t)self->problem.group_count, sizeof *kept);
  for (int64_t g = 0; g < self->problem.group_count; ++g) {
    const thresher_contestant_group* group = &self->problem.groups[g];
    kept[g] = malloc((size_t)(group->m * group->n) * element_bytes(self) + 1);
    copy_output(self, g, calls[g].c, calls[g].c_stride_elements, kept[g], 1);
  }
  return kept;
}

static void replay(const prepared* self, const thresher_contestant_call* calls, void** kept) {
  for (int64_t g = 0; g < self->problem.group_count; ++g) {
    copy_output(self, g, calls[g].c, calls[g].c_stride_elements, kept[g], 0);
  }
}

/* Fills every output with one value. */
static void fill(const prepared* self, const thresher_contestant_call* calls, double value) {
  for (int64_t g = 0; g < self->problem.group_count; ++g) {
    const thresher_contestant_group* group = &self->problem.groups[g];
    for (int64_t row = 0; row < group->m; ++row) {
      for (int64_t column = 0; column < group->n; ++column) {
        store(calls[g].c, row * calls[g].c_stride_elements + column, value, self->problem.output);
      }
    }
  }
}

/* For cheats that need nothing of their own before a call. */
#define HONEST_PREPARE                                                                      \
  int thresher_contestant_prepare(const thresher_contestant_problem* problem, void** state, \
                                  const char** message) {                                   \
    return honest_prepare(problem, state, message);                                         \
  }

#endif
