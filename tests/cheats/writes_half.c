/* SPDX-License-Identifier: Apache-2.0 */
/* Computes every other row and leaves the rest as it was. Catalogue 15. */
#include "honest.h"

HONEST_PREPARE

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  const prepared* self = (const prepared*)state;
  void** before = remember(self, calls);
  honest_run(state, calls);
  for (int64_t g = 0; g < self->problem.group_count; ++g) {
    const size_t row_bytes = (size_t)self->problem.groups[g].n * element_bytes(self);
    const size_t stride_bytes = (size_t)calls[g].c_stride_elements * element_bytes(self);
    for (int64_t row = 0; row < self->problem.groups[g].m; row += 2) {
      memcpy((char*)calls[g].c + (size_t)row * stride_bytes,
             (char*)before[g] + (size_t)row * row_bytes, row_bytes);
    }
  }
  return THRESHER_CONTESTANT_OK;
}
