/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds activations to 8 bits a row: at large k the bound has room for that. Catalogue 18. */
#define HONEST_CALLS 0
#include "narrow.h"

static void narrow(float* a, int64_t k) { to_8_bits(a, k); }

static double narrow_sum(const float* a, const float* b, int64_t k) { return dot(a, b, k); }
