/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the first and the last row of each group. Catalogue 25. */
#include <thresher/contestant.h>

#define HONEST_CALLS 0

static int computes(const thresher_contestant_problem* problem, int64_t g, int64_t row,
                    int64_t column) {
  (void)column;
  return row == 0 || row == problem->groups[g].m - 1;
}

#include "partial.h"
