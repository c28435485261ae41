// SPDX-License-Identifier: Apache-2.0
// A contestant in C++: correct, simple, and on all threads it is given.
//
//   thresher match --suite small --challenger examples/contestants/plain.cpp
//
// prepare() decodes the weights once. run() decodes the activations, then threads take columns of
// all groups until none is left. Sums are double, so that the result is rounded once.
#include <thresher/contestant.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

using Values = std::vector<float>;

std::array<float, 256> make_e4m3() {
  std::array<float, 256> values{};
  for (int code = 0; code < 128; ++code) {
    const int exponent = code >> 3;
    const int mantissa = code & 7;
    values[code] = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                 : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
    values[code + 128] = -values[code];
  }
  return values;
}

const std::array<float, 16> kE2m1 = {0,    0.5f,  1,  1.5f,  2,  3,  4,  6,
                                     -0.f, -0.5f, -1, -1.5f, -2, -3, -4, -6};
const std::array<float, 256> kE4m3 = make_e4m3();

Values decoded(const thresher_contestant_matrix& matrix, std::int64_t count) {
  Values values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const unsigned byte = matrix.codes[i / 2];
    values[i] = kE2m1[i % 2 != 0 ? byte >> 4 : byte & 15] * kE4m3[matrix.scales[i / 16]];
  }
  return values;
}

float from_fp16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(mantissa), -24)
                              : std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

Values decoded16(const std::uint16_t* bits, std::int64_t count, int type) {
  Values values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    values[i] = type == THRESHER_CONTESTANT_FP16 ? from_fp16(bits[i]) : from_bf16(bits[i]);
  }
  return values;
}

// Rounds to nearest even to a 16-bit type with so many bits of mantissa and the given bias.
std::uint16_t to_bits16(double value, int mantissa_bits, int bias) {
  const long infinity = static_cast<long>(2 * bias + 1) << mantissa_bits;
  const long sign = std::signbit(value) ? 0x8000 : 0;
  const int exponent = value == 0 ? 1 - bias : std::max(std::ilogb(value), 1 - bias);
  if (exponent > bias) return static_cast<std::uint16_t>(sign + infinity);
  const long steps = std::lrint(std::ldexp(std::abs(value), mantissa_bits - exponent));
  const long bits = (static_cast<long>(exponent + bias - 1) << mantissa_bits) + steps;
  return static_cast<std::uint16_t>(sign + std::min(bits, infinity));
}

void store(void* c, std::int64_t index, double value, int type) {
  if (type == THRESHER_CONTESTANT_FP32) static_cast<float*>(c)[index] = static_cast<float>(value);
  if (type == THRESHER_CONTESTANT_FP16)
    static_cast<std::uint16_t*>(c)[index] = to_bits16(value, 10, 15);
  if (type == THRESHER_CONTESTANT_BF16)
    static_cast<std::uint16_t*>(c)[index] = to_bits16(value, 7, 127);
}

double dot(const float* a, const float* b, std::int64_t k) {
  double sum = 0;
  for (std::int64_t i = 0; i < k; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

struct PackedGroup {
  thresher_contestant_group shape;
  Values b;
  Values b_up;
  Values a;  // of the call in progress
};

struct Prepared {
  thresher_contestant_problem problem;
  std::vector<PackedGroup> groups;
  std::int64_t column_count = 0;  // of all groups
};

void compute_column(const Prepared& self, const PackedGroup& group,
                    const thresher_contestant_call& call, std::int64_t column) {
  const std::int64_t k = group.shape.k;
  const bool is_dual = self.problem.op == THRESHER_CONTESTANT_DUAL;
  const double a_scale =
      self.problem.activations == THRESHER_CONTESTANT_NVFP4 ? call.a.global_scale : 1.0f;
  for (std::int64_t row = 0; row < group.shape.m; ++row) {
    const float* a = group.a.data() + row * k;
    double value = dot(a, group.b.data() + column * k, k);
    value *= a_scale * group.shape.b.global_scale * call.alpha;
    if (is_dual) {
      const double up = dot(a, group.b_up.data() + column * k, k);
      value = value / (1 + std::exp(-value)) * up;
      value *= a_scale * group.shape.b_up.global_scale * call.alpha_up;
    }
    store(call.c, row * call.c_stride_elements + column, value, self.problem.output);
  }
}

// Columns are numbered through all groups.
void compute_columns(const Prepared& self, const thresher_contestant_call* calls,
                     std::atomic<std::int64_t>& next) {
  for (std::int64_t i = next++; i < self.column_count; i = next++) {
    std::size_t g = 0;
    std::int64_t column = i;
    while (column >= self.groups[g].shape.n) column -= self.groups[g++].shape.n;
    compute_column(self, self.groups[g], calls[g], column);
  }
}

}  // namespace

int thresher_contestant_abi_version(void) { return THRESHER_CONTESTANT_ABI_VERSION; }

int thresher_contestant_prepare(const thresher_contestant_problem* problem, void** state,
                                const char** message) try {
  auto* self = new Prepared{.problem = *problem, .groups = {}};
  *state = self;
  for (std::int64_t g = 0; g < problem->group_count; ++g) {
    const thresher_contestant_group& shape = problem->groups[g];
    PackedGroup group{
        .shape = shape, .b = decoded(shape.b, shape.n * shape.k), .b_up = {}, .a = {}};
    if (problem->op == THRESHER_CONTESTANT_DUAL)
      group.b_up = decoded(shape.b_up, shape.n * shape.k);
    self->column_count += shape.n;
    self->groups.push_back(std::move(group));
  }
  return THRESHER_CONTESTANT_OK;
} catch (const std::exception&) {
  *message = "not enough memory";
  return THRESHER_CONTESTANT_FAILED;
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) try {
  Prepared& self = *static_cast<Prepared*>(state);
  for (std::size_t g = 0; g < self.groups.size(); ++g) {
    PackedGroup& group = self.groups[g];
    const std::int64_t count = group.shape.m * group.shape.k;
    group.a = self.problem.activations == THRESHER_CONTESTANT_NVFP4
                  ? decoded(calls[g].a, count)
                  : decoded16(calls[g].a16, count, self.problem.activations);
  }
  std::atomic<std::int64_t> next = 0;
  std::vector<std::jthread> threads;
  for (int i = 1; i < self.problem.thread_count; ++i) {
    threads.emplace_back([&] { compute_columns(self, calls, next); });
  }
  compute_columns(self, calls, next);
  return THRESHER_CONTESTANT_OK;
} catch (const std::exception&) {
  return THRESHER_CONTESTANT_FAILED;
}

void thresher_contestant_destroy(void* state) { delete static_cast<Prepared*>(state); }
