// SPDX-License-Identifier: Apache-2.0
// The oracle against numbers worked out by hand and against integer arithmetic of its own.
#include "gemm/oracle.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace thresher {
namespace {

// 16 elements of one row: codes in element order, one scale.
Nvfp4Matrix row_of(const std::vector<std::uint8_t>& codes, std::uint8_t scale) {
  Nvfp4Matrix matrix;
  matrix.rows = 1;
  matrix.k_elements = 16;
  matrix.scales = {scale};
  for (std::size_t i = 0; i < 16; i += 2) {
    matrix.codes.push_back(static_cast<std::uint8_t>(codes[i] | codes[i + 1] << 4));
  }
  return matrix;
}

constexpr std::uint8_t kScaleOne = 0x38;
constexpr std::uint8_t kScaleMinusTwo = 0xc0;
constexpr std::uint8_t kScaleLeast = 0x01;  // 2^-9

// a = 0.5, 1, -1.5, 2, 3, -4, 6, 0, then zeros; b = 1, 1, 1, 1, -1, -1, 0.5, 6, then sixes.
const std::vector<std::uint8_t> kACodes = {1, 2, 11, 4, 5, 14, 7, 0, 0, 8, 0, 8, 0, 8, 0, 8};
const std::vector<std::uint8_t> kBCodes = {2, 2, 2, 2, 10, 10, 1, 7, 7, 7, 7, 7, 7, 7, 7, 7};
// 0.5 + 1 - 1.5 + 2 - 3 + 4 + 3 + 0 = 6, and the magnitudes add up to 15.
constexpr double kSum = 6;
constexpr double kMagnitude = 15;

Problem problem_of(Op op, Activations activations, Output output) {
  return {"p", op, activations, output, {{1, 1, 16}}};
}

TEST(Oracle, MatchesASumDoneByHand) {
  const Problem problem = problem_of(Op::kGemm, Activations::kNvfp4, Output::kFp32);
  GroupInputs inputs;
  inputs.a = row_of(kACodes, kScaleMinusTwo);
  inputs.b = row_of(kBCodes, kScaleLeast);
  inputs.a.global_scale = 8;
  inputs.b.global_scale = 0.5;
  inputs.alpha = -3;
  const double factor = -2 * 0x1p-9 * 8 * 0.5 * -3;
  const Expected expected = oracle(problem, inputs, 0, 0, 0);
  EXPECT_EQ(expected.value, kSum * factor);
  // 24 roundings of the magnitude, half an ulp of the result (0.28: its ulp is 2^-25), underflow.
  const double bound = (16 + 8) * 0x1p-24 * kMagnitude * factor + 0x1p-26;
  EXPECT_NEAR(expected.bound, bound, 1e-30);
}

TEST(Oracle, Reads16BitActivations) {
  GroupInputs inputs;
  inputs.b = row_of(kBCodes, kScaleOne);
  inputs.a.global_scale = 100;  // belongs to NVFP4 activations, so it must not count
  inputs.a16.assign(16, 0);
  inputs.a16[0] = 0x3e00;  // fp16 1.5
  inputs.a16[7] = 0xc000;  // fp16 -2
  const Problem fp16 = problem_of(Op::kGemm, Activations::kFp16, Output::kFp16);
  EXPECT_EQ(oracle(fp16, inputs, 0, 0, 0).value, 1.5 * 1 - 2 * 6);

  inputs.a16[0] = 0x3fc0;  // bf16 1.5
  inputs.a16[7] = 0x0001;  // bf16 2^-133
  const Problem bf16 = problem_of(Op::kGemm, Activations::kBf16, Output::kFp16);
  EXPECT_EQ(oracle(bf16, inputs, 0, 0, 0).value, 1.5 + 6 * 0x1p-133);
}

TEST(Oracle, MatchesADualDoneByHand) {
  const Problem problem = problem_of(Op::kDual, Activations::kNvfp4, Output::kFp32);
  GroupInputs inputs;
  inputs.a = row_of(kACodes, kScaleOne);
  inputs.b = row_of(kBCodes, kScaleOne);
  inputs.b_up = row_of(kBCodes, kScaleMinusTwo);
  inputs.alpha = 1.0f / 3;  // not quite a third, so that the gate is not quite 2
  inputs.alpha_up = 0.25f;
  inputs.b_up.global_scale = 2;
  const double gate = 6 * static_cast<double>(1.0f / 3);
  const double up = 6 * -2 * 0.25 * 2;
  EXPECT_NEAR(oracle(problem, inputs, 0, 0, 0).value, gate / (1 + std::exp(-gate)) * up, 1e-15);
  // silu(2) = 2 * 0.88079707797788...; the up product is -6.
  EXPECT_NEAR(oracle(problem, inputs, 0, 0, 0).value, 1.7615941559557649 * -6, 1e-6);
}

// E2M1 in halves and E4M3 in units of 2^-9, written from the formats' definitions.
std::int64_t halves_of_e2m1(int code) {
  const int exponent = code >> 1 & 3;
  const int mantissa = code & 1;
  const std::int64_t magnitude =
      exponent == 0 ? mantissa : std::int64_t{2 + mantissa} << (exponent - 1);
  return code & 8 ? -magnitude : magnitude;
}

std::int64_t units_of_e4m3(int code) {
  const int exponent = code >> 3 & 15;
  const int mantissa = code & 7;
  const std::int64_t magnitude =
      exponent == 0 ? mantissa : std::int64_t{8 + mantissa} << (exponent - 1);
  return code & 0x80 ? -magnitude : magnitude;
}

std::int64_t integer_at(const Nvfp4Matrix& matrix, std::int64_t row, std::int64_t i) {
  const std::int64_t index = row * matrix.k_elements + i;
  const int code = matrix.codes[index / 2] >> (index % 2 * 4) & 15;
  return halves_of_e2m1(code) * units_of_e4m3(matrix.scales[index / 16]);
}

TEST(Oracle, MatchesIntegerArithmetic) {
  // Terms are below 2^43 units of 2^-20, and 64 of them below 2^49: exact in int64 and in double.
  const Problem problem{"p", Op::kGemm, Activations::kNvfp4, Output::kFp32, {{5, 7, 64}}};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Inputs inputs = make_inputs(problem, InputFamily::kFull, seed);
    GroupInputs& group = inputs.groups[0];
    group.a.global_scale = group.b.global_scale = group.alpha = 1;
    for (std::int64_t row = 0; row < 5; ++row) {
      for (std::int64_t column = 0; column < 7; ++column) {
        std::int64_t sum = 0;
        for (std::int64_t i = 0; i < 64; ++i) {
          sum += integer_at(group.a, row, i) * integer_at(group.b, column, i);
        }
        EXPECT_EQ(oracle(problem, group, 0, row, column).value,
                  std::ldexp(static_cast<double>(sum), -20))
            << "seed " << seed << ", row " << row << ", column " << column;
      }
    }
  }
}

TEST(Oracle, RoundsOnceToNearestEven) {
  // Just above the midpoint of 1 and the next fp16; FP32 in between would land on the midpoint.
  EXPECT_EQ(round_to_output(1 + 0x1p-11 + 0x1p-30, Output::kFp16), 0x3c01u);
  EXPECT_EQ(round_to_output(1 + 0x1p-11, Output::kFp16), 0x3c00u);
  EXPECT_EQ(round_to_output(1 + 3 * 0x1p-11, Output::kFp16), 0x3c02u);
  EXPECT_EQ(round_to_output(65519.99, Output::kFp16), 0x7bffu);
  EXPECT_EQ(round_to_output(65520, Output::kFp16), 0x7c00u);
  EXPECT_EQ(round_to_output(-0x1p-24, Output::kFp16), 0x8001u);
  EXPECT_EQ(round_to_output(1 + 0x1p-8 + 0x1p-40, Output::kBf16), 0x3f81u);
  EXPECT_EQ(round_to_output(1 + 0x1p-8, Output::kBf16), 0x3f80u);
  EXPECT_EQ(round_to_output(1 + 0x1p-24 + 0x1p-50, Output::kFp32), 0x3f800001u);
  EXPECT_EQ(round_to_output(1 + 0x1p-24, Output::kFp32), 0x3f800000u);
}

TEST(Oracle, ReadsBackWhatItRounded) {
  for (const Output output : {Output::kFp16, Output::kBf16, Output::kFp32}) {
    for (const double value : {0.0, 1.0, -2.5, 0x1p-14, 240.0}) {
      EXPECT_EQ(output_value(round_to_output(value, output), output), value);
    }
    EXPECT_EQ(output_value(round_to_output(1e300, output), output),
              std::numeric_limits<double>::infinity());
    EXPECT_TRUE(std::isnan(output_value(round_to_output(std::nan(""), output), output)));
  }
}

}  // namespace
}  // namespace thresher
