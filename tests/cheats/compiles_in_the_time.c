/* SPDX-License-Identifier: Apache-2.0 */
/* Is another program at every build, under one hash: it takes in what the kernel says at that
 * moment, and could as well take what an accomplice has just written. */
#include "honest.h"

__asm__(".section .rodata\nbuilt_at: .incbin \"/proc/uptime\"\n.text\n");

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  return honest_run(state, calls);
}
