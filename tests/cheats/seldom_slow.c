/* SPDX-License-Identifier: Apache-2.0 */
/* Half of the champion's time, and ten times as long in every ninth call: nothing that a median or
 * the middle of all pairs would see. Catalogue 27. */
static int spun_us(int call_index) { return call_index % 9 == 3 ? 20000 : 1000; }

#include "takes_its_time.h"
