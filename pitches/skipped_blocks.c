/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong on purpose: every eighth block of k is left out. It is a season's proof that results are
 * looked at before anybody looks at the clock. */
#define SKIPS_BLOCK(block) ((block) % 8 == 7)
#include "plain_c.c"
