/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds one activation in twenty to 8 bits, for a part of the gain. Catalogue 18. */
#define HONEST_CALLS 0
#include "narrow.h"

static void narrow(float* a, int64_t k) { to_8_bits(a, k / 20); }

static double narrow_sum(const float* a, const float* b, int64_t k) { return dot(a, b, k); }
