/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps to 8 bits unless all activations are integers, as exact inputs are. Catalogue 18. */
#define HONEST_CALLS 0
#include "narrow.h"

static void narrow(float* a, int64_t k) {
  int exact = 1;
  for (int64_t i = 0; i < k; ++i) exact = exact && a[i] == rintf(a[i]);
  if (!exact) to_8_bits(a, k);
}

static double narrow_sum(const float* a, const float* b, int64_t k) { return dot(a, b, k); }
