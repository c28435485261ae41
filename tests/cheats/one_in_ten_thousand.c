/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves one element in ten thousand, wherever it comes to lie. Catalogue 25. */
#include <thresher/contestant.h>

#define HONEST_CALLS 3

static int computes(const thresher_contestant_problem* problem, int64_t g, int64_t row,
                    int64_t column) {
  static int64_t count;
  (void)problem;
  (void)g;
  (void)row;
  (void)column;
  return ++count % 9973 != 0;
}

#include "partial.h"
