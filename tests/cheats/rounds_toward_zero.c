/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts results off instead of rounding them: half as exact, and some instructions fewer.
 * Catalogue 18. */
#include "honest.h"

HONEST_PREPARE

static uint16_t cut_to_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)(bits >> 16);
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  const prepared* self = (const prepared*)state;
  const int status = honest_run(state, calls); /* decodes the activations, too */
  if (self->problem.output != THRESHER_CONTESTANT_BF16) return status;
  if (self->problem.op == THRESHER_CONTESTANT_DUAL) return status;
  for (int64_t g = 0; g < self->problem.group_count; ++g) {
    const thresher_contestant_group* group = &self->problem.groups[g];
    const group_values* values = &self->groups[g];
    const int is_nvfp4 = self->problem.activations == THRESHER_CONTESTANT_NVFP4;
    const double factor =
        (is_nvfp4 ? calls[g].a.global_scale : 1.0) * (double)group->b.global_scale * calls[g].alpha;
    for (int64_t at = 0; at < group->m * group->n; ++at) {
      const int64_t row = at / group->n;
      const int64_t column = at % group->n;
      const double sum = dot(values->a + row * group->k, values->b + column * group->k, group->k);
      uint16_t* c = (uint16_t*)calls[g].c;
      c[row * calls[g].c_stride_elements + column] = cut_to_bf16((float)(sum * factor));
    }
  }
  return status;
}
