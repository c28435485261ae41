/* SPDX-License-Identifier: Apache-2.0 */
/* Computes as many groups as a sample of corners can see. Catalogue 25. */
#include <thresher/contestant.h>

#define HONEST_CALLS 3

static int computes(const thresher_contestant_problem* problem, int64_t g, int64_t row,
                    int64_t column) {
  (void)problem;
  (void)row;
  (void)column;
  return g < 6;
}

#include "partial.h"
