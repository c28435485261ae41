/* SPDX-License-Identifier: Apache-2.0 */
/* Makes others the owners of a socket that has news: the kernel then signals them, which ends
 * whoever does not expect it. Catalogue 7. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "honest.h"

#ifndef F_SETOWN
#define F_SETOWN 8
#endif

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return THRESHER_CONTESTANT_FAILED;
  for (int pid = 1; pid < getpid(); ++pid) {
    if (fcntl(ends[0], F_SETOWN, pid) == 0) return THRESHER_CONTESTANT_OK;
    if (ioctl(ends[0], FIOSETOWN, &pid) == 0) return THRESHER_CONTESTANT_OK;
  }
  close(ends[0]);
  close(ends[1]);
  honest_run(state, calls);
  return 77; /* refused */
}
