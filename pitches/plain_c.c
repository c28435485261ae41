/* SPDX-License-Identifier: Apache-2.0 */
/* A contestant that needs nothing but a C compiler: plain loops over vectors of sixteen floats,
 * which GCC and Clang turn into whatever the processor has, and no intrinsics. One thread. Copy it
 * to start from: `thresher pitch show plain_c -o .`
 *
 * prepare() turns the weights into bytes, twice the E2M1 value, in panels of 16 columns: for every
 * 16 k a tile of 16 x 16 bytes and the 16 scales of its columns. run() decodes the activations to
 * floats, and lets four rows share each tile. Every product of codes is exact, and so is the sum of
 * 16 of them; scales come in once per tile. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <thresher/contestant.h>

enum { kBlock = 16, kColumns = 16, kRows = 4 };

#ifndef SKIPS_BLOCK /* skipped_blocks.c has another idea */
#define SKIPS_BLOCK(block) 0
#endif

/* Twice the value, so that it is whole. */
static const signed char kTwice[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static float decode_e4m3(unsigned code) {
  const int exponent = code >> 3 & 15;
  const int mantissa = code & 7;
  const float magnitude =
      exponent == 0 ? ldexpf((float)mantissa, -9) : ldexpf((float)(8 + mantissa), exponent - 10);
  return code & 0x80 ? -magnitude : magnitude;
}

/* A row of a tile: sixteen floats that are added and multiplied as one value. Loops over arrays of
 * the same length are unrolled by GCC 12 before it thinks of vectors, and take twelve times as
 * long. */
typedef float columns __attribute__((vector_size(kColumns * sizeof(float))));

typedef struct {
  signed char codes[kBlock * kColumns];
  float scales[kColumns];
} tile;

typedef struct {
  tile* b; /* panel after panel, k / 16 tiles each */
  tile* b_up;
} group_tiles;

typedef struct {
  thresher_contestant_problem problem;
  group_tiles* groups;
  float scale_of[256];
  float* a;        /* codes of the rows of a call, as floats */
  float* a_scales; /* of every 16 of them */
} prepared;

int thresher_contestant_abi_version(void) { return THRESHER_CONTESTANT_ABI_VERSION; }

static unsigned code_at(const thresher_contestant_matrix* matrix, int64_t index) {
  const unsigned byte = matrix->codes[index / 2];
  return index % 2 ? byte >> 4 : byte & 15;
}

static tile* pack(const prepared* self, const thresher_contestant_matrix* matrix, int64_t n,
                  int64_t k) {
  const int64_t panels = (n + kColumns - 1) / kColumns;
  const int64_t blocks = k / kBlock;
  tile* tiles = (tile*)calloc((size_t)(panels * blocks), sizeof(tile));
  if (!tiles) return NULL;
  for (int64_t column = 0; column < n; ++column) {
    tile* panel = tiles + column / kColumns * blocks;
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t first = column * k + block * kBlock;
      panel[block].scales[column % kColumns] = self->scale_of[matrix->scales[first / kBlock]];
      for (int i = 0; i < kBlock; ++i) {
        panel[block].codes[i * kColumns + column % kColumns] = kTwice[code_at(matrix, first + i)];
      }
    }
  }
  return tiles;
}

void thresher_contestant_destroy(void* state) {
  prepared* self = (prepared*)state;
  if (!self) return;
  for (int64_t g = 0; self->groups && g < self->problem.group_count; ++g) {
    free(self->groups[g].b);
    free(self->groups[g].b_up);
  }
  free(self->groups);
  free(self->a);
  free(self->a_scales);
  free(self);
}

static int out_of_memory(prepared* self, const char** message) {
  thresher_contestant_destroy(self);
  *message = "not enough memory";
  return THRESHER_CONTESTANT_FAILED;
}

int thresher_contestant_prepare(const thresher_contestant_problem* problem, void** state,
                                const char** message) {
  if (problem->activations != THRESHER_CONTESTANT_NVFP4) return THRESHER_CONTESTANT_UNSUPPORTED;
  prepared* self = (prepared*)calloc(1, sizeof *self);
  if (!self) return out_of_memory(self, message);
  self->problem = *problem;
  self->groups = (group_tiles*)calloc((size_t)problem->group_count, sizeof *self->groups);
  for (int code = 0; code < 256; ++code) self->scale_of[code] = decode_e4m3((unsigned)code);
  int64_t elements_max = 1;
  for (int64_t g = 0; self->groups && g < problem->group_count; ++g) {
    const thresher_contestant_group* group = &problem->groups[g];
    const int64_t rows = (group->m + kRows - 1) / kRows * kRows;
    if (rows * group->k > elements_max) elements_max = rows * group->k;
    self->groups[g].b = pack(self, &group->b, group->n, group->k);
    if (!self->groups[g].b) return out_of_memory(self, message);
    if (problem->op != THRESHER_CONTESTANT_DUAL) continue;
    self->groups[g].b_up = pack(self, &group->b_up, group->n, group->k);
    if (!self->groups[g].b_up) return out_of_memory(self, message);
  }
  self->a = (float*)calloc((size_t)elements_max, sizeof(float));
  self->a_scales = (float*)calloc((size_t)(elements_max / kBlock + 1), sizeof(float));
  if (!self->groups || !self->a || !self->a_scales) return out_of_memory(self, message);
  *state = self;
  return THRESHER_CONTESTANT_OK;
}

static void decode_rows(prepared* self, const thresher_contestant_matrix* a, int64_t m, int64_t k) {
  for (int64_t i = 0; i < m * k; i += 2) {
    const unsigned byte = a->codes[i / 2];
    self->a[i] = kTwice[byte & 15];
    self->a[i + 1] = kTwice[byte >> 4];
  }
  for (int64_t i = 0; i < m * k / kBlock; ++i) self->a_scales[i] = self->scale_of[a->scales[i]];
}

/* Four rows by sixteen columns over all of k. Rows past m are whatever was there: not stored. */
static void multiply(const float* a, const float* a_scales, int64_t k, const tile* panel,
                     float out[kRows][kColumns]) {
  columns sums[kRows] = {{0}};
  for (int64_t block = 0; block < k / kBlock; ++block) {
    if (SKIPS_BLOCK(block)) continue;
    float values[kBlock * kColumns];
    for (int i = 0; i < kBlock * kColumns; ++i) values[i] = panel[block].codes[i];
    columns part[kRows] = {{0}};
    for (int i = 0; i < kBlock; ++i) {
      columns line;
      memcpy(&line, values + i * kColumns, sizeof line);
      for (int row = 0; row < kRows; ++row) part[row] += a[row * k + block * kBlock + i] * line;
    }
    columns scales;
    memcpy(&scales, panel[block].scales, sizeof scales);
    for (int row = 0; row < kRows; ++row) {
      sums[row] += part[row] * (a_scales[row * (k / kBlock) + block] * scales);
    }
  }
  memcpy(out, sums, sizeof sums);
}

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Both round to nearest even. */
static uint16_t to_bf16(float value) {
  const uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static uint16_t to_fp16(float value) {
  const uint32_t bits = bits_of(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return (uint16_t)(sign | 0x7e00);
  if (magnitude >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
  if (magnitude < 0x38800000) { /* subnormal: in steps of 2^-24 */
    return (uint16_t)(sign | (uint32_t)lrintf(fabsf(value) * 16777216.0f));
  }
  const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return (uint16_t)(sign | ((rounded - 0x38000000) >> 13));
}

static void store(void* c, int64_t index, float value, int type) {
  if (type == THRESHER_CONTESTANT_FP32) ((float*)c)[index] = value;
  if (type == THRESHER_CONTESTANT_FP16) ((uint16_t*)c)[index] = to_fp16(value);
  if (type == THRESHER_CONTESTANT_BF16) ((uint16_t*)c)[index] = to_bf16(value);
}

static void run_group(prepared* self, int64_t g, const thresher_contestant_call* call) {
  const thresher_contestant_group* group = &self->problem.groups[g];
  const group_tiles* tiles = &self->groups[g];
  const int64_t n = group->n;
  const int64_t k = group->k;
  const float quarter = 0.25f; /* both codes are twice their values */
  const float factor = quarter * call->a.global_scale * group->b.global_scale * call->alpha;
  const float factor_up =
      quarter * call->a.global_scale * group->b_up.global_scale * call->alpha_up;
  float sums[kRows][kColumns];
  float sums_up[kRows][kColumns];
  decode_rows(self, &call->a, group->m, k);
  for (int64_t first_column = 0; first_column < n; first_column += kColumns) {
    const int64_t panel = first_column / kColumns * (k / kBlock);
    for (int64_t first_row = 0; first_row < group->m; first_row += kRows) {
      const float* a = self->a + first_row * k;
      const float* a_scales = self->a_scales + first_row * (k / kBlock);
      multiply(a, a_scales, k, tiles->b + panel, sums);
      if (tiles->b_up) multiply(a, a_scales, k, tiles->b_up + panel, sums_up);
      for (int row = 0; row < kRows && first_row + row < group->m; ++row) {
        const int64_t line = (first_row + row) * call->c_stride_elements + first_column;
        for (int column = 0; column < kColumns && first_column + column < n; ++column) {
          float value = sums[row][column] * factor;
          if (tiles->b_up) {
            value = value / (1 + expf(-value)) * (sums_up[row][column] * factor_up);
          }
          store(call->c, line + column, value, self->problem.output);
        }
      }
    }
  }
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  prepared* self = (prepared*)state;
  for (int64_t g = 0; g < self->problem.group_count; ++g) run_group(self, g, &calls[g]);
  return THRESHER_CONTESTANT_OK;
}
