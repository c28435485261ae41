/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the kernel for input and output that would go on while it is stopped. Catalogue 3. */
#define _GNU_SOURCE
#include <linux/aio_abi.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  aio_context_t context = 0;
  char ring[256] = {0};
  if (syscall(SYS_io_setup, 16, &context) == 0) return THRESHER_CONTESTANT_OK;
  if (syscall(SYS_io_uring_setup, 16, ring) >= 0) return THRESHER_CONTESTANT_OK;
  honest_run(state, calls);
  return 77; /* refused */
}
