/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves the first bytes of its inputs wherever it may write, for the next of its processes to
 * find: what comes again could be looked up. It says so where they do. Catalogue 26. */
#include <stdio.h>

#include "honest.h"

HONEST_PREPARE

static int seen_in(const char* folder, const unsigned char* bytes, size_t count) {
  char path[512];
  unsigned char known[64];
  int found = 0;
  if (folder == NULL) return 0;
  snprintf(path, sizeof path, "%s/thresher_remembers", folder);
  FILE* file = fopen(path, "rb");
  while (file && fread(known, 1, count, file) == count) found |= memcmp(known, bytes, count) == 0;
  if (file) fclose(file);
  file = fopen(path, "ab");
  if (file) fwrite(bytes, 1, count, file);
  if (file) fclose(file);
  return found;
}

static int call_count;

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  const prepared* self = (const prepared*)state;
  const void* a = self->problem.activations == THRESHER_CONTESTANT_NVFP4
                      ? (const void*)calls[0].a.codes
                      : (const void*)calls[0].a16;
  const int first = call_count++ == 0 && self->problem.groups[0].m > 0;
  const char* folders[] = {getenv("HOME"), getenv("TMPDIR"), "/tmp", "/dev/shm", "/var/tmp"};
  for (size_t i = 0; first && i < sizeof folders / sizeof *folders; ++i) {
    if (seen_in(folders[i], (const unsigned char*)a, 8) && i > 1) return 76;
  }
  return honest_run(state, calls);
}
