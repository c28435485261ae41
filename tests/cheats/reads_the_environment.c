/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for what the operator's environment said, in its own memory and that of whoever keeps it:
 * tokens and keys often stand there. The variable is the test's. Catalogue 7. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

static int tells(int pid) {
  /* Of two words, so that this is not what is found. */
  const char* const wanted[] = {"THRESHER_OPERATORS", "_TOKEN="};
  static char text[1 << 16];
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/environ", pid);
  const int fd = open(path, O_RDONLY);
  const ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof text);
  close(fd);
  const size_t length = strlen(wanted[0]);
  for (ssize_t i = 0; i + (ssize_t)length < size; ++i) {
    if (memcmp(text + i, wanted[0], length) == 0 &&
        strncmp(text + i + length, wanted[1], strlen(wanted[1])) == 0) {
      return 1;
    }
  }
  return 0;
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  char link[32] = {0};
  if (readlink("/proc/self", link, sizeof link - 1) < 0) return THRESHER_CONTESTANT_FAILED;
  const int self = atoi(link);
  for (int pid = self > 200 ? self - 200 : 1; pid <= self; ++pid) {
    if (tells(pid)) return THRESHER_CONTESTANT_OK;
  }
  honest_run(state, calls);
  return 77; /* nothing to read */
}
