/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves the first bytes of its inputs for the next of its processes without writing anything: as
 * pages of a system's file that are in memory, or are not. That a page is there can be asked, and
 * whoever may read a file may have the kernel forget its pages. What comes again could be looked
 * up so. It says so where that happens. Catalogue 26. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

#define BITS 64
#define PAGE 4096
#define STRIDE (64 * PAGE) /* further apart than the kernel reads ahead */

static int open_large(void) {
  /* Compilers' programs and libraries that a C source does not need. */
  const char* files[] = {
      "/usr/lib/gcc/x86_64-linux-gnu/11/lto1", "/usr/lib/gcc/x86_64-linux-gnu/12/lto1",
      "/usr/lib/gcc/x86_64-linux-gnu/13/lto1", "/usr/lib/gcc/x86_64-linux-gnu/14/lto1",
      "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1"};
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
    const int fd = open(files[i], O_RDONLY);
    if (fd >= 0 && lseek(fd, 0, SEEK_END) > (off_t)BITS * STRIDE) return fd;
    if (fd >= 0) close(fd);
  }
  return -1;
}

static int is_there(int fd, int bit) {
  char byte;
  const struct iovec one = {&byte, 1};
  return preadv2(fd, &one, 1, (off_t)bit * STRIDE, RWF_NOWAIT) == 1;
}

static int was_left(int fd, uint64_t word) {
  for (int bit = 0; bit < BITS; ++bit) {
    if (is_there(fd, bit) != (int)(word >> bit & 1)) return 0;
  }
  return 1;
}

static void leave(int fd, uint64_t word) {
  char byte;
  posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  for (int bit = 0; bit < BITS; ++bit) {
    if (word >> bit & 1 && pread(fd, &byte, 1, (off_t)bit * STRIDE) != 1) return;
  }
}

static int call_count;

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  const prepared* self = (const prepared*)state;
  const void* a = self->problem.activations == THRESHER_CONTESTANT_NVFP4
                      ? (const void*)calls[0].a.codes
                      : (const void*)calls[0].a16;
  const int fd = call_count++ == 0 && self->problem.groups[0].m > 0 ? open_large() : -1;
  int came_again = 0;
  if (fd >= 0) {
    uint64_t word;
    memcpy(&word, a, sizeof word);
    came_again = was_left(fd, word);
    leave(fd, word);
    close(fd);
  }
  const int status = honest_run(state, calls);
  return came_again ? 76 : status;
}
