/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for the descriptor by which its keeper tells the referee how it ended. Catalogue 7. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

static int speaks_for(int pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/5", pid);
  const int fd = open(path, O_WRONLY);
  return fd >= 0 && write(fd, "exit 0\n", 7) == 7;
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  char link[32] = {0};
  if (readlink("/proc/self", link, sizeof link - 1) < 0) return THRESHER_CONTESTANT_FAILED;
  const int self = atoi(link);
  for (int pid = self - 200; pid <= self; ++pid) {
    if (pid > 0 && speaks_for(pid)) return THRESHER_CONTESTANT_OK;
  }
  honest_run(state, calls);
  return 77; /* refused */
}
