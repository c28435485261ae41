/* SPDX-License-Identifier: Apache-2.0 */
/* Adds 64 products at a time in fp16. Catalogue 18. */
#define HONEST_CALLS 0
#include "narrow.h"

static void narrow(float* a, int64_t k) {
  (void)a;
  (void)k;
}

static double narrow_sum(const float* a, const float* b, int64_t k) {
  return sum_in_chunks(a, b, k, 64, 5, 10, THRESHER_CONTESTANT_FP16);
}
