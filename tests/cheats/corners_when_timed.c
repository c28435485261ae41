/* SPDX-License-Identifier: Apache-2.0 */
/* The same once the gates are passed: only the corners are worth a look. Catalogue 25. */
#include <thresher/contestant.h>

#define HONEST_CALLS 3

static int computes(const thresher_contestant_problem* problem, int64_t g, int64_t row,
                    int64_t column) {
  const thresher_contestant_group* group = &problem->groups[g];
  return (row == 0 || row == group->m - 1) && (column == 0 || column == group->n - 1);
}

#include "partial.h"
