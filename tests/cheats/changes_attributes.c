/* SPDX-License-Identifier: Apache-2.0 */
/* Changes modes, times and attributes of files that belong to the user it runs as: the operator's
 * own, where he is not root. The file is named by the test; Landlock does not hold these. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  const char* file = "/tmp/thresher-operators-file";
  const struct timespec times[2] = {{1, 0}, {1, 0}};
  const int fd = open(file, O_RDONLY);
  if (fd < 0) return THRESHER_CONTESTANT_FAILED;
  const int changed = chmod(file, 0777) == 0 || fchmod(fd, 0777) == 0 ||
                      fchmodat(AT_FDCWD, file, 0777, 0) == 0 || chown(file, getuid(), -1) == 0 ||
                      utimensat(AT_FDCWD, file, times, 0) == 0 || futimens(fd, times) == 0 ||
                      setxattr(file, "user.thresher", "x", 1, 0) == 0 ||
                      fsetxattr(fd, "user.thresher", "x", 1, 0) == 0;
  if (changed) return THRESHER_CONTESTANT_OK;
  honest_run(state, calls);
  return 77; /* refused */
}
