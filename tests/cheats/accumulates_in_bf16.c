/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds every partial sum to bf16. Catalogue 18. */
#include "honest.h"

HONEST_PREPARE

static float rounded(float value) {
  return decode_bits16(encode_bits16(value, 8, 7), THRESHER_CONTESTANT_BF16);
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  const prepared* self = (const prepared*)state;
  honest_run(state, calls); /* decodes the activations, too */
  if (self->problem.op == THRESHER_CONTESTANT_DUAL) return THRESHER_CONTESTANT_OK;
  for (int64_t g = 0; g < self->problem.group_count; ++g) {
    const thresher_contestant_group* group = &self->problem.groups[g];
    const double scale = (double)calls[g].a.global_scale * group->b.global_scale * calls[g].alpha;
    for (int64_t row = 0; row < group->m; ++row) {
      for (int64_t column = 0; column < group->n; ++column) {
        float sum = 0;
        for (int64_t i = 0; i < group->k; ++i) {
          sum = rounded(sum + self->groups[g].a[row * group->k + i] *
                                  self->groups[g].b[column * group->k + i]);
        }
        store(calls[g].c, row * calls[g].c_stride_elements + column, sum * scale,
              self->problem.output);
      }
    }
  }
  return THRESHER_CONTESTANT_OK;
}
