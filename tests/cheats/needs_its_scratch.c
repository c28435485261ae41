/* SPDX-License-Identifier: Apache-2.0 */
/* No cheat: it keeps a file in its scratch folder, and fails in a call that finds no room there. */
#include <fcntl.h>
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

static int keep_a_file(void) {
  static char bytes[1 << 16];
  const int file = open("kept", O_CREAT | O_WRONLY | O_TRUNC, 0600);
  const int kept = file >= 0 && write(file, bytes, sizeof bytes) == (ssize_t)sizeof bytes;
  if (file >= 0) close(file);
  return kept;
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  if (chdir(getenv("HOME")) != 0 || !keep_a_file()) return 79;
  return honest_run(state, calls);
}
