/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the corners of each group, where kernels go wrong. Catalogue 25. */
#include <thresher/contestant.h>

#define HONEST_CALLS 0

static int computes(const thresher_contestant_problem* problem, int64_t g, int64_t row,
                    int64_t column) {
  const thresher_contestant_group* group = &problem->groups[g];
  return (row == 0 || row == group->m - 1) && (column == 0 || column == group->n - 1);
}

#include "partial.h"
