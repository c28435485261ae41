/* SPDX-License-Identifier: Apache-2.0 */
/* No cheat: a champion that always takes two milliseconds, for those that hide behind a median. */
static int spun_us(int call_index) {
  (void)call_index;
  return 2000;
}

#include "takes_its_time.h"
