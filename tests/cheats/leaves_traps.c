/* SPDX-License-Identifier: Apache-2.0 */
/* Fills its scratch folder with what is hard to remove: folders nobody may enter, a tree deeper
 * than any path, names that look like options. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

static int set_traps(void) {
  const char* names[] = {"locked", "-rf", "line\nbreak", " "};
  if (chdir(getenv("HOME")) != 0) return 0;
  for (int i = 0; i < 4; ++i) {
    if (mkdir(names[i], 0700) != 0) return 0;
    const int folder = open(names[i], O_DIRECTORY);
    mkdirat(folder, "inner", 0);
    close(openat(folder, "file", O_CREAT | O_WRONLY, 0));
    fchmod(folder, 0);
    close(folder);
  }
  for (int depth = 0; depth < 3000; ++depth) {
    if (mkdir("a_folder_in_a_folder", 0700) != 0 || chdir("a_folder_in_a_folder") != 0) return 0;
  }
  return 1;
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  static int done;
  if (!done && !set_traps()) return THRESHER_CONTESTANT_FAILED;
  done = 1;
  return honest_run(state, calls);
}
