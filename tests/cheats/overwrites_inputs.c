/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the inputs zero, so that zero becomes the right answer: through its mapping, through a
 * mapping made writable, and through the descriptor opened again. Catalogue 16. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  const uintptr_t page = 4096;
  const int64_t last = ((const prepared*)state)->problem.group_count - 1;
  void* begin = (void*)((uintptr_t)calls[last].a.codes / page * page);
  const int fd = open("/proc/self/fd/3", O_RDWR);
  void* mapped = fd < 0 ? MAP_FAILED : mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int written = fd >= 0 && pwrite(fd, "", 1, 0) == 1;
  const int made_writable = mprotect(begin, page, PROT_READ | PROT_WRITE) == 0;
  if (mapped == MAP_FAILED && !written && !made_writable) {
    *(volatile unsigned char*)calls[last].a.codes = 0; /* ends here */
  }
  fill((const prepared*)state, calls, 0.0);
  return THRESHER_CONTESTANT_OK;
}
