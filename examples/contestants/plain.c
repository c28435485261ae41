/* SPDX-License-Identifier: Apache-2.0 */
/* A contestant in C: correct and simple, a place to start from.
 *
 *   thresher match --suite small --challenger examples/contestants/plain.c
 *
 * prepare() decodes the weights to floats once; run() decodes the activations and takes dot
 * products in double, so that the result is rounded once, to the output type. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <thresher/contestant.h>

static float decode_e2m1(unsigned code) {
  static const float values[8] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
  return code & 8 ? -values[code & 7] : values[code & 7];
}

static float decode_e4m3(unsigned code) {
  const int exponent = code >> 3 & 15;
  const int mantissa = code & 7;
  const float magnitude =
      exponent == 0 ? ldexpf((float)mantissa, -9) : ldexpf((float)(8 + mantissa), exponent - 10);
  return code & 0x80 ? -magnitude : magnitude;
}

static void decode_nvfp4(const thresher_contestant_matrix* matrix, int64_t rows, int64_t k,
                         float* values) {
  for (int64_t i = 0; i < rows * k; ++i) {
    const unsigned byte = matrix->codes[i / 2];
    values[i] = decode_e2m1(i % 2 ? byte >> 4 : byte & 15) * decode_e4m3(matrix->scales[i / 16]);
  }
}

static float decode_bits16(uint16_t bits, int type) {
  if (type == THRESHER_CONTESTANT_BF16) {
    const uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
  }
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  const float magnitude = exponent == 0 ? ldexpf((float)mantissa, -24)
                                        : ldexpf((float)(1024 + mantissa), exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

/* Rounds to nearest even to a type with so many bits of exponent and mantissa. */
static uint16_t encode_bits16(double value, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const long infinity = ((1L << exponent_bits) - 1) << mantissa_bits;
  const long sign = signbit(value) ? 0x8000 : 0;
  if (isnan(value)) return (uint16_t)(infinity + 1);
  if (isinf(value)) return (uint16_t)(sign + infinity);
  int exponent = 0;
  frexp(value, &exponent);
  --exponent;
  if (value == 0 || exponent < 1 - bias) exponent = 1 - bias; /* subnormal */
  if (exponent > bias) return (uint16_t)(sign + infinity);
  const long steps = lrint(ldexp(fabs(value), mantissa_bits - exponent));
  const long bits = ((long)(exponent + bias - 1) << mantissa_bits) + steps;
  return (uint16_t)(sign + (bits < infinity ? bits : infinity));
}

static void store(void* c, int64_t index, double value, int type) {
  if (type == THRESHER_CONTESTANT_FP32) ((float*)c)[index] = (float)value;
  if (type == THRESHER_CONTESTANT_FP16) ((uint16_t*)c)[index] = encode_bits16(value, 5, 10);
  if (type == THRESHER_CONTESTANT_BF16) ((uint16_t*)c)[index] = encode_bits16(value, 8, 7);
}

typedef struct {
  float* b; /* n x k */
  float* b_up;
  float* a; /* m x k, room for the activations of a call */
} group_values;

typedef struct {
  thresher_contestant_problem problem;
  group_values* groups;
} prepared;

int thresher_contestant_abi_version(void) { return THRESHER_CONTESTANT_ABI_VERSION; }

static float* new_values(int64_t count) {
  return (float*)malloc((size_t)(count > 0 ? count : 1) * sizeof(float));
}

int thresher_contestant_prepare(const thresher_contestant_problem* problem, void** state,
                                const char** message) {
  prepared* self = (prepared*)calloc(1, sizeof *self);
  self->problem = *problem;
  self->groups = (group_values*)calloc((size_t)problem->group_count, sizeof *self->groups);
  for (int64_t g = 0; g < problem->group_count; ++g) {
    const thresher_contestant_group* group = &problem->groups[g];
    group_values* values = &self->groups[g];
    values->a = new_values(group->m * group->k);
    values->b = new_values(group->n * group->k);
    values->b_up = problem->op == THRESHER_CONTESTANT_DUAL ? new_values(group->n * group->k) : NULL;
    if (!values->a || !values->b || (problem->op == THRESHER_CONTESTANT_DUAL && !values->b_up)) {
      *message = "not enough memory";
      return THRESHER_CONTESTANT_FAILED;
    }
    decode_nvfp4(&group->b, group->n, group->k, values->b);
    if (values->b_up) decode_nvfp4(&group->b_up, group->n, group->k, values->b_up);
  }
  *state = self;
  return THRESHER_CONTESTANT_OK;
}

static double dot(const float* a, const float* b, int64_t k) {
  double sum = 0;
  for (int64_t i = 0; i < k; ++i) sum += (double)a[i] * b[i];
  return sum;
}

static void run_group(const prepared* self, int64_t g, const thresher_contestant_call* call) {
  const thresher_contestant_group* group = &self->problem.groups[g];
  const group_values* values = &self->groups[g];
  const int type = self->problem.activations;
  double a_scale = 1;
  if (type == THRESHER_CONTESTANT_NVFP4) {
    decode_nvfp4(&call->a, group->m, group->k, values->a);
    a_scale = call->a.global_scale;
  } else {
    for (int64_t i = 0; i < group->m * group->k; ++i) {
      values->a[i] = decode_bits16(call->a16[i], type);
    }
  }
  const double factor = a_scale * group->b.global_scale * call->alpha;
  const double factor_up = a_scale * group->b_up.global_scale * call->alpha_up;
  for (int64_t row = 0; row < group->m; ++row) {
    const float* a = values->a + row * group->k;
    for (int64_t column = 0; column < group->n; ++column) {
      double result = dot(a, values->b + column * group->k, group->k) * factor;
      if (values->b_up) {
        const double up = dot(a, values->b_up + column * group->k, group->k) * factor_up;
        result = result / (1 + exp(-result)) * up;
      }
      store(call->c, row * call->c_stride_elements + column, result, self->problem.output);
    }
  }
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  const prepared* self = (const prepared*)state;
  for (int64_t g = 0; g < self->problem.group_count; ++g) run_group(self, g, &calls[g]);
  return THRESHER_CONTESTANT_OK;
}

void thresher_contestant_destroy(void* state) {
  prepared* self = (prepared*)state;
  if (!self) return;
  for (int64_t g = 0; g < self->problem.group_count; ++g) {
    free(self->groups[g].a);
    free(self->groups[g].b);
    free(self->groups[g].b_up);
  }
  free(self->groups);
  free(self);
}
