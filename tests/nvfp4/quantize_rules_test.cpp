// SPDX-License-Identifier: Apache-2.0
// The quantiser's vector code against the rules written plainly, for every instruction set, type
// and maker; threads and the caller's buffer change no byte.
#include "nvfp4/quantize_rules.hpp"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <random>
#include <vector>

#include "nvfp4/e2m1.hpp"
#include "nvfp4/e4m3.hpp"
#include "nvfp4/error_message.hpp"
#include "nvfp4/half.hpp"

namespace thresher::nvfp4 {
namespace {

float widen(float value) { return value; }
float widen(Fp16 value) { return fp16_to_float(value.bits); }
float widen(Bf16 value) { return bf16_to_float(value.bits); }
void narrow(float value, float& out) { out = value; }
void narrow(float value, Fp16& out) { out.bits = float_to_fp16(value); }
void narrow(float value, Bf16& out) { out.bits = float_to_bf16(value); }

float own_sixth(float amax, const float*) { return amax / 6.0f; }
float own_sixth(float amax, const Fp16*) { return fp16_to_float(float_to_fp16(amax / 6.0f)); }
float own_sixth(float amax, const Bf16*) { return bf16_to_float(float_to_bf16(amax / 6.0f)); }

struct PlainBlock {
  std::uint8_t scale = 0;
  std::uint8_t codes[8] = {};
};

// Step by step as quantize_rules.hpp says.
template <typename Value>
PlainBlock plain_block(const Value* values, Rules rules, float global) {
  float amax = 0;
  for (int i = 0; i < 16; ++i) amax = std::max(amax, std::fabs(widen(values[i])));
  PlainBlock block;
  float step = 0;
  if (rules == Rules::kCompressedTensors) {
    block.scale = encode_e4m3(global * own_sixth(amax, values));
    if (block.scale == 0) block.scale = encode_e4m3(0.125);
    step = decode_e4m3(block.scale) / global;
  } else {
    const float quotient = amax / (6.0f * global);
    block.scale = std::max(encode_e4m3(quotient), kE4m3LeastCode);
    if (rules == Rules::kModelOpt && quotient == 0) block.scale = encode_e4m3(1.0);
    step = decode_e4m3(block.scale) * global;
    if (rules == Rules::kThresher && amax == 0) return {};
  }
  for (int i = 0; i < 16; ++i) {
    const float quotient = widen(values[i]) / step;
    int code = encode_e2m1(quotient);
    if (rules != Rules::kThresher && !(quotient < 0)) code &= 7;
    block.codes[i / 2] = static_cast<std::uint8_t>(block.codes[i / 2] | code << i % 2 * 4);
  }
  return block;
}

// Everyday weights, ties, zeros of both signs, whole blocks of zeros, and all powers of two.
template <typename Value>
std::vector<Value> awkward_values() {
  std::mt19937_64 random(7);
  std::normal_distribution<float> gaussian;
  std::vector<Value> values;
  const auto add = [&](float value) { narrow(value, values.emplace_back()); };
  for (int i = 0; i < 40 * 16; ++i) add(0.02f * gaussian(random));
  for (int i = 0; i < 40 * 16; ++i)
    add(static_cast<float>(static_cast<int>(random() % 97) - 48) / 4);
  for (int i = 0; i < 3 * 16; ++i) add(i % 3 == 0 ? -0.0f : 0.0f);
  for (int i = 0; i < 20 * 16; ++i) add(random() % 8 == 0 ? -0.25f * gaussian(random) : -0.0f);
  for (int e = -40; e < 14; ++e) {
    for (int i = 0; i < 16; ++i) add(std::ldexp(gaussian(random), e));
  }
  return values;
}

const QuantizeKernels<float>& kernels_in(const QuantizeBody& body, float) { return body.fp32; }
const QuantizeKernels<Fp16>& kernels_in(const QuantizeBody& body, Fp16) { return body.fp16; }
const QuantizeKernels<Bf16>& kernels_in(const QuantizeBody& body, Bf16) { return body.bf16; }

std::vector<const QuantizeBody*> runnable_bodies() {
  std::vector<const QuantizeBody*> bodies = {&portable_quantize_body()};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) bodies.push_back(&avx2_quantize_body());
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
    bodies.push_back(&avx512_quantize_body());
  }
#endif
  return bodies;
}

template <typename Value>
void expect_plain_bytes() {
  const std::vector<Value> values = awkward_values<Value>();
  const auto block_count = static_cast<std::int64_t>(values.size() / 16);
  float amax = 0;
  for (const Value value : values) amax = std::max(amax, std::fabs(widen(value)));
  for (const Rules rules : {Rules::kThresher, Rules::kModelOpt, Rules::kCompressedTensors}) {
    for (const float global : {global_scale_for<Value>(rules, amax), 1.0f, 0.37f}) {
      for (const QuantizeBody* body : runnable_bodies()) {
        std::vector<std::uint8_t> codes(values.size() / 2, 0xee);
        std::vector<std::uint8_t> scales(values.size() / 16, 0xee);
        const auto kernel = kernels_in(*body, Value{}).quantize[static_cast<int>(rules)];
        const std::uint32_t largest =
            kernel({values.data(), block_count, global, codes.data(), scales.data()});
        EXPECT_EQ(largest, std::bit_cast<std::uint32_t>(amax));
        for (std::int64_t b = 0; b < block_count; ++b) {
          const PlainBlock plain = plain_block(values.data() + b * 16, rules, global);
          ASSERT_EQ(scales[static_cast<std::size_t>(b)], plain.scale) << "block " << b;
          for (int i = 0; i < 8; ++i) {
            ASSERT_EQ(codes[static_cast<std::size_t>(b * 8 + i)], plain.codes[i])
                << "block " << b << ", byte " << i << ", rules " << static_cast<int>(rules);
          }
        }
      }
    }
  }
}

TEST(QuantizeRules, EveryBodyWritesTheBytesOfThePlainRules) {
  expect_plain_bytes<float>();
  expect_plain_bytes<Fp16>();
  expect_plain_bytes<Bf16>();
}

TEST(QuantizeRules, EveryFp16IsWidenedExactly) {
  std::vector<Fp16> values(16);
  for (const QuantizeBody* body : runnable_bodies()) {
    for (int bits = 0; bits < 0x8000; ++bits) {
      values[3].bits = static_cast<std::uint16_t>(bits | (bits & 1) << 15);
      const std::uint32_t amax = body->fp16.amax(values.data(), 16);
      if (bits >= 0x7c00) {
        ASSERT_GE(amax, 0x7f800000u) << bits;
      } else {
        ASSERT_EQ(std::bit_cast<float>(amax), fp16_to_float(static_cast<std::uint16_t>(bits)));
      }
    }
  }
}

// In the weights' own arithmetic, reciprocal first: rounded once, bf16's would be 331776.
TEST(QuantizeRules, CompressedTensorsGlobalScaleComesFromItsOwnArithmetic) {
  constexpr Rules kRules = Rules::kCompressedTensors;
  EXPECT_EQ(global_scale_for<float>(kRules, 0.3f), (1.0f / 0.3f) * 2688.0f);
  EXPECT_EQ(global_scale_for<Bf16>(kRules, 0.00811767578125f), 329728.0f);
  EXPECT_EQ(global_scale_for<Fp16>(kRules, 0.5f), 5376.0f);
  EXPECT_EQ(global_scale_for<Fp16>(kRules, 0.30004883f), 8960.0f);  // 1 / amax is 3.333984 there
  EXPECT_EQ(global_scale_for<Fp16>(kRules, 0.03f), (1.0f / 0.03f) * 2688.0f);  // too large for FP16
  EXPECT_EQ(global_scale_for<float>(kRules, 0.0f), 1.0f);
  EXPECT_EQ(global_scale_for<float>(Rules::kModelOpt, 0.0f), 1.0f);
  EXPECT_EQ(global_scale_for<Bf16>(Rules::kModelOpt, 0.3f), 0.3f / 2688.0f);
}

TEST(QuantizeRules, ThreadsAndBuffersChangeNoByte) {
  std::mt19937_64 random(3);
  std::normal_distribution<float> gaussian(0, 0.02f);
  constexpr std::int64_t kManyRows = 1031;
  constexpr std::int64_t kManyElements = 2048;
  std::vector<float> values(kManyRows * kManyElements);
  for (float& value : values) value = gaussian(random);
  const Nvfp4Matrix one = quantize(values, kManyRows, kManyElements, {.thread_count = 1});
  for (const int threads : {0, 2, 5}) {
    Nvfp4Matrix out{.codes = std::vector<std::uint8_t>(one.codes.size(), 0xee),
                    .scales = std::vector<std::uint8_t>(one.scales.size(), 0xee)};
    const Nvfp4View view =
        quantize(values, {out.codes.data(), out.scales.data(), kManyRows, kManyElements},
                 {.thread_count = threads});
    EXPECT_EQ(view.global_scale, one.global_scale);
    EXPECT_EQ(view.codes, out.codes.data());
    EXPECT_EQ(out.codes, one.codes) << threads;
    EXPECT_EQ(out.scales, one.scales) << threads;
  }
}

TEST(QuantizeRules, AGivenGlobalScaleIsTaken) {
  std::vector<float> values(16);
  values[0] = 12.0f;
  values[1] = -1.0f;
  const Nvfp4Matrix matrix = quantize(values, 1, 16, {.given_global_scale = 0.5f});
  EXPECT_EQ(matrix.global_scale, 0.5f);
  EXPECT_EQ(matrix.scales[0], encode_e4m3(4.0));  // 12 / (6 * 0.5)
  EXPECT_EQ(matrix.codes[0], 0x97);               // 12 / 2 and -1 / 2
  // What is too large for it saturates.
  values[0] = 1e6f;
  const Nvfp4Matrix saturated = quantize(values, 1, 16, {.given_global_scale = 0.5f});
  EXPECT_EQ(saturated.scales[0], kE4m3MaxCode);
  EXPECT_EQ(saturated.codes[0], 0x87);
}

TEST(QuantizeRules, WhatCannotBeGivenIsRefused) {
  const std::vector<float> values(16);
  const auto message = [&](const QuantizeOptions& options) {
    return error_message([&] { quantize(values, 1, 16, options); });
  };
  for (const float scale : {-1.0f, 1e-38f, INFINITY, NAN}) {
    EXPECT_NE(message({.given_global_scale = scale}).find("given_global_scale = "),
              std::string::npos);
  }
  EXPECT_EQ(message({.thread_count = -1}), "quantize: thread_count = -1 is below 0");
  EXPECT_EQ(error_message([&] {
              quantize(values, Nvfp4Buffer{nullptr, nullptr, 1, 16});
            }),
            "quantize: codes is null");
}

// The place of a NaN that only the second pass of a given scale sees.
TEST(QuantizeRules, WhatIsNotFiniteIsNamedWithAGivenScaleToo) {
  std::vector<float> values(3 * 32);
  values[2 * 32 + 5] = NAN;
  EXPECT_EQ(error_message([&] { quantize(values, 3, 32, {.given_global_scale = 1}); }),
            "quantize: row 2, column 5: nan cannot be quantised");
}

}  // namespace
}  // namespace thresher::nvfp4
