/* SPDX-License-Identifier: Apache-2.0 */
/* Half of the champion's time, but for every seventh call, which takes three times as long: the
 * mean still gains, nine calls of ten do not. Catalogue 27. */
static int spun_us(int call_index) { return call_index % 7 == 3 ? 6000 : 1000; }

#include "takes_its_time.h"
