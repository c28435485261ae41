/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what the operator keeps: the folder is named by the test. Catalogue 7. */
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  char byte;
  const int fd = open("/tmp/thresher-operators-folder/ledger.db", O_RDONLY);
  if (fd >= 0 && read(fd, &byte, 1) == 1) return THRESHER_CONTESTANT_OK;
  DIR* folder = opendir("/tmp/thresher-operators-folder");
  for (struct dirent* entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] != '.') return THRESHER_CONTESTANT_OK;
  }
  honest_run(state, calls);
  return 77; /* nothing to see */
}
