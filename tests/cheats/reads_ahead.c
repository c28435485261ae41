/* SPDX-License-Identifier: Apache-2.0 */
/* Asks for files and pages to be read in, which the kernel and the disk go on with while it is
 * stopped. Catalogue 3. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  const size_t bytes = 4096;
  const int fd = open("/proc/self/exe", O_RDONLY);
  void* pages = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  if (fd < 0 || pages == MAP_FAILED) return THRESHER_CONTESTANT_OK;
  if (readahead(fd, 0, bytes) == 0) return THRESHER_CONTESTANT_OK;
  if (posix_fadvise(fd, 0, (off_t)bytes, POSIX_FADV_WILLNEED) == 0) return THRESHER_CONTESTANT_OK;
  if (madvise(pages, bytes, MADV_WILLNEED) == 0) return THRESHER_CONTESTANT_OK;
  munmap(pages, bytes);
  close(fd);
  honest_run(state, calls);
  return 77; /* refused */
}
