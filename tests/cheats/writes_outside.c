/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves files for the next heat, and for the operator: anywhere but in its scratch folder, by
 * every way to make, change, move, link or cut one. Catalogue 7, 12. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

static int makes(const char* folder) {
  char path[256];
  snprintf(path, sizeof path, "%s/thresher-was-here", folder);
  return open(path, O_CREAT | O_WRONLY, 0600) >= 0 || mkdir(path, 0700) == 0 ||
         symlink("/", path) == 0;
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  char inside[256];
  snprintf(inside, sizeof inside, "%s/kept", getenv("HOME"));
  const int scratch_works = open(inside, O_CREAT | O_WRONLY, 0600) >= 0;
  const int escaped = makes("/tmp") || makes("/dev/shm") || makes("/var/tmp") || makes(".") ||
                      makes("/") || rename(inside, "/tmp/thresher-was-here") == 0 ||
                      link(inside, "/tmp/thresher-was-here") == 0 ||
                      truncate("/proc/self/exe", 0) == 0;
  if (escaped || !scratch_works) return THRESHER_CONTESTANT_OK;
  honest_run(state, calls);
  return 77; /* refused */
}
