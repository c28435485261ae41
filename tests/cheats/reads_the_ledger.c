/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what the operator keeps, of which it knows the name: by that, by the way round through
 * /proc, and by a link of its own. The folder is named by the test. Catalogue 7. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

#define LEDGER "/tmp/thresher-operators-folder/ledger.db"

static int reads(const char* path) {
  char byte;
  const int fd = open(path, O_RDONLY);
  return fd >= 0 && read(fd, &byte, 1) == 1;
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  char link[512];
  snprintf(link, sizeof link, "%s/link", getenv("HOME"));
  unlink(link);
  if (reads(LEDGER) || reads("/proc/self/root" LEDGER) || reads("/tmp/thresher-operators-link")) {
    return THRESHER_CONTESTANT_OK;
  }
  if (symlink(LEDGER, link) == 0 && reads(link)) return THRESHER_CONTESTANT_OK;
  if (!reads("/etc/passwd")) return THRESHER_CONTESTANT_OK; /* what is not hidden can be read */
  honest_run(state, calls);
  return 77; /* refused */
}
