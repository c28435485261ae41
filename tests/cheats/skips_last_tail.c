/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves the last columns of the last row of the last group. Catalogue 25. */
#include <thresher/contestant.h>

#define HONEST_CALLS 3

static int computes(const thresher_contestant_problem* problem, int64_t g, int64_t row,
                    int64_t column) {
  const thresher_contestant_group* group = &problem->groups[g];
  return g != problem->group_count - 1 || row != group->m - 1 || column < group->n - 3;
}

#include "partial.h"
