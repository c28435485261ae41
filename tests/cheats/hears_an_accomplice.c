/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what somebody else on the machine has left for it in shared memory: results, or word of
 * when to be slow. The file is there for the test. Catalogue 21. */
#include <fcntl.h>
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  char byte;
  const int fd = open("/dev/shm/thresher-accomplice", O_RDONLY);
  if (fd >= 0 && read(fd, &byte, 1) == 1) return THRESHER_CONTESTANT_OK;
  honest_run(state, calls);
  return 77; /* nothing to hear */
}
