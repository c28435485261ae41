/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves one column in four thousand to chance. Catalogue 25. */
#include <thresher/contestant.h>

#define HONEST_CALLS 0

static int computes(const thresher_contestant_problem* problem, int64_t g, int64_t row,
                    int64_t column) {
  (void)g;
  (void)row;
  (void)problem;
  return column % 4096 != 1234;
}

#include "partial.h"
