/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds activations to 8 bits, with a scale for every 16 of them, once the gates are passed.
 * Catalogue 18. */
#define HONEST_CALLS 3
#include "narrow.h"

static void narrow(float* a, int64_t k) {
  for (int64_t i = 0; i < k; i += 16) to_8_bits(a + i, 16);
}

static double narrow_sum(const float* a, const float* b, int64_t k) { return dot(a, b, k); }
