// SPDX-License-Identifier: Apache-2.0
// Each rule of docs/nvfp4.md by itself; quantize_property_test.cpp has the brute force.
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <limits>
#include <vector>

#include "nvfp4/error_message.hpp"
#include "nvfp4/half.hpp"
#include "thresher/nvfp4.hpp"

namespace thresher::nvfp4 {
namespace {

constexpr QuantizeOptions kNoGlobalScale{.global_scale = false};

// One block: `first`, then zeros.
std::vector<float> block_of(std::initializer_list<float> first) {
  std::vector<float> values(first);
  values.resize(kBlockElements);
  return values;
}

Nvfp4Matrix quantize_block_of(std::initializer_list<float> first) {
  return quantize(block_of(first), 1, kBlockElements, kNoGlobalScale);
}

TEST(Quantize, ElementTwoIIsTheLowNibble) {
  const Nvfp4Matrix matrix = quantize_block_of({6.0f, -0.5f, 1.0f, 1.5f});
  EXPECT_EQ(matrix.codes, (std::vector<std::uint8_t>{0x97, 0x32, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(matrix.scales, std::vector<std::uint8_t>{0x38});
}

TEST(Quantize, BlocksFollowRowsInOrder) {
  std::vector<float> values(2 * 32);
  values[0] = 6.0f;
  values[16] = 12.0f;
  values[32] = 24.0f;
  values[48] = 48.0f;
  const Nvfp4Matrix matrix = quantize(values, 2, 32, kNoGlobalScale);
  EXPECT_EQ(matrix.rows, 2);
  EXPECT_EQ(matrix.k_elements, 32);
  EXPECT_EQ(matrix.scales, (std::vector<std::uint8_t>{0x38, 0x40, 0x48, 0x50}));
}

TEST(Quantize, GlobalScaleIsAmaxOver2688) {
  EXPECT_EQ(quantize(block_of({-2688.0f}), 1, 16).global_scale, 1.0f);
  EXPECT_EQ(quantize(block_of({1.0f, -7.0f}), 1, 16).global_scale, 7.0f / 2688.0f);
}

TEST(Quantize, GlobalScaleCanBeSwitchedOff) {
  EXPECT_EQ(quantize_block_of({7.0f}).global_scale, 1.0f);
}

TEST(Quantize, WithAGlobalScaleTheLargestBlockGetsTheLargestScale) {
  const Nvfp4Matrix matrix = quantize(block_of({0.123f}), 1, 16);
  EXPECT_EQ(matrix.scales[0], 0x7e);
  EXPECT_EQ(matrix.codes[0], 0x07);
}

TEST(Quantize, BlockScaleIsAmaxOverSixToNearestEven) {
  EXPECT_EQ(quantize_block_of({6.0f}).scales[0], 0x38);             // 1
  EXPECT_EQ(quantize_block_of({6.0f * 1.0625f}).scales[0], 0x38);   // tie of 1 and 1.125
  EXPECT_EQ(quantize_block_of({6.0f * 1.1875f}).scales[0], 0x3a);   // tie of 1.125 and 1.25
  EXPECT_EQ(quantize_block_of({-6.0f * 1.1874f}).scales[0], 0x39);  // just below that tie
  EXPECT_EQ(quantize_block_of({6.0f * 0x1p-9f}).scales[0], 0x01);   // the smallest subnormal
}

TEST(Quantize, BlockScaleSaturatesAt448) {
  const Nvfp4Matrix matrix = quantize_block_of({10000.0f, -1e30f, 1344.0f});
  EXPECT_EQ(matrix.scales[0], 0x7e);
  EXPECT_EQ(matrix.codes[0], 0xf7);
  EXPECT_EQ(matrix.codes[1], 0x05);  // 1344 = 3 * 448
}

TEST(Quantize, ANonZeroBlockKeepsANonZeroScale) {
  const Nvfp4Matrix small = quantize_block_of({6.0f * 0x1p-11f});
  EXPECT_EQ(small.scales[0], 0x01);
  EXPECT_EQ(small.codes[0], 0x03);  // 6 * 2^-11 = 1.5 * 2^-9
  const Nvfp4Matrix tiny = quantize_block_of({FLT_TRUE_MIN});
  EXPECT_EQ(tiny.scales[0], 0x01);
  EXPECT_EQ(tiny.codes[0], 0x00);
}

TEST(Quantize, ValuesRoundToNearestEven) {
  const Nvfp4Matrix matrix =
      quantize_block_of({6.0f, 0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f});
  EXPECT_EQ(matrix.codes, (std::vector<std::uint8_t>{0x07, 0x22, 0x44, 0x66, 0, 0, 0, 0}));
}

TEST(Quantize, ANegativeValueThatRoundsToZeroKeepsItsSign) {
  EXPECT_EQ(quantize_block_of({6.0f, -0.1f, -0.0f}).codes[0], 0x87);
  EXPECT_EQ(quantize_block_of({6.0f, -0.1f, -0.0f}).codes[1], 0x08);
}

TEST(Quantize, AZeroBlockGetsZeroScaleAndZeroCodes) {
  std::vector<float> values(32, -0.0f);
  values[16] = 1.0f;
  const Nvfp4Matrix matrix = quantize(values, 1, 32);
  EXPECT_EQ(matrix.scales, (std::vector<std::uint8_t>{0x00, 0x7e}));
  EXPECT_EQ(std::vector<std::uint8_t>(matrix.codes.begin(), matrix.codes.begin() + 8),
            std::vector<std::uint8_t>(8));
}

TEST(Quantize, AZeroMatrixGetsGlobalScaleOne) {
  const Nvfp4Matrix matrix = quantize(std::vector<float>(64), 2, 32);
  EXPECT_EQ(matrix.global_scale, 1.0f);
  EXPECT_EQ(matrix.scales, std::vector<std::uint8_t>(4));
  EXPECT_EQ(matrix.codes, std::vector<std::uint8_t>(32));
}

TEST(Quantize, NoRowsGiveAnEmptyMatrix) {
  const Nvfp4Matrix matrix = quantize(std::span<const float>{}, 0, 16);
  EXPECT_TRUE(matrix.codes.empty() && matrix.scales.empty());
  EXPECT_EQ(matrix.global_scale, 1.0f);
}

TEST(Quantize, TheGlobalScaleIsAtLeastTwoToTheMinus117) {
  const Nvfp4Matrix matrix = quantize(block_of({1000 * 0x1p-117f}), 1, 16);
  EXPECT_EQ(matrix.global_scale, 0x1p-117f);
  EXPECT_EQ(matrix.scales[0], 0x72);  // 1000 / 6 = 166.7, nearest is 160
  EXPECT_EQ(quantize(block_of({FLT_TRUE_MIN}), 1, 16).global_scale, 0x1p-117f);
}

// The global scale 6 / 2688 is no float, so the exact quotient 1.75 / (448 * global scale) is a
// hair below the midpoint 1.75. In FP32, as checkpoint makers compute, it is 1.75 and goes to
// code 4.
TEST(Quantize, DivisionsRoundToFp32) {
  const Nvfp4Matrix matrix = quantize(block_of({6.0f, 1.75f}), 1, 16);
  EXPECT_EQ(matrix.codes[0] >> 4, 4);
}

TEST(Quantize, TheLargestFloatsStayFinite) {
  const Nvfp4Matrix matrix = quantize(block_of({FLT_MAX, -FLT_MAX}), 1, 16);
  const std::vector<float> values = dequantize(matrix.view());
  EXPECT_TRUE(std::isfinite(values[0]) && std::isfinite(values[1]));
  EXPECT_GT(values[0], 0.999f * FLT_MAX);
}

TEST(Quantize, Fp16AndBf16GiveWhatTheirFloatsGive) {
  std::vector<Fp16> fp16(2 * 48);
  std::vector<Bf16> bf16(2 * 48);
  std::vector<float> fp16_values(2 * 48);
  std::vector<float> bf16_values(2 * 48);
  for (std::size_t i = 0; i < fp16.size(); ++i) {
    const float value = std::sin(static_cast<float>(i)) * 40.0f;
    fp16[i].bits = float_to_fp16(value);
    bf16[i].bits = float_to_bf16(value);
    fp16_values[i] = fp16_to_float(fp16[i].bits);
    bf16_values[i] = bf16_to_float(bf16[i].bits);
  }
  const Nvfp4Matrix from_fp16 = quantize(fp16, 2, 48);
  EXPECT_EQ(from_fp16.codes, quantize(fp16_values, 2, 48).codes);
  EXPECT_EQ(from_fp16.scales, quantize(fp16_values, 2, 48).scales);
  EXPECT_EQ(from_fp16.global_scale, quantize(fp16_values, 2, 48).global_scale);
  const Nvfp4Matrix from_bf16 = quantize(bf16, 2, 48);
  EXPECT_EQ(from_bf16.codes, quantize(bf16_values, 2, 48).codes);
  EXPECT_EQ(from_bf16.scales, quantize(bf16_values, 2, 48).scales);
  EXPECT_EQ(from_bf16.global_scale, quantize(bf16_values, 2, 48).global_scale);
}

TEST(Quantize, RefusesNanAndInfinityWithTheirPosition) {
  std::vector<float> values(3 * 32);
  values[2 * 32 + 5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(error_message([&] { quantize(values, 3, 32); }),
            "quantize: row 2, column 5: nan cannot be quantised");
  values[32 + 31] = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(error_message([&] { quantize(values, 3, 32, kNoGlobalScale); }),
            "quantize: row 1, column 31: -inf cannot be quantised");
}

TEST(Quantize, RefusesNanAndInfinityOf16Bits) {
  std::vector<Fp16> fp16(2 * 16, Fp16{0});
  fp16[17].bits = kFp16Infinity;
  EXPECT_EQ(error_message([&] { quantize(fp16, 2, 16); }),
            "quantize: row 1, column 1: inf cannot be quantised");
  std::vector<Bf16> bf16(2 * 16, Bf16{0});
  bf16[16].bits = kBf16QuietNan;
  EXPECT_EQ(error_message([&] { quantize(bf16, 2, 16); }),
            "quantize: row 1, column 0: nan cannot be quantised");
}

TEST(Quantize, RefusesASpanOfTheWrongSize) {
  EXPECT_EQ(error_message([] { quantize(std::vector<float>(48), 2, 32); }),
            "quantize: 48 values given, 2 x 32 = 64 needed");
}

TEST(Quantize, RefusesAbsurdExtents) {
  const std::vector<float> values(64);
  EXPECT_EQ(error_message([&] { quantize(values, 2, 40); }),
            "quantize: k_elements = 40 is not a multiple of 16");
  EXPECT_EQ(error_message([&] { quantize(values, -2, 32); }),
            "quantize: rows = -2 is not in 0..16777216");
  EXPECT_EQ(error_message([&] { quantize(values, 2, -32); }),
            "quantize: k_elements = -32 is not in 16..16777216");
  EXPECT_EQ(error_message([&] { quantize(values, std::int64_t{1} << 62, 32); }),
            "quantize: rows = 4611686018427387904 is not in 0..16777216");
  EXPECT_EQ(error_message([&] { quantize(values, 1 << 24, 1 << 24); }),
            "quantize: 16777216 x 16777216 = 281474976710656 elements are more than "
            "1099511627776");
}

TEST(Dequantize, AppliesScaleAndGlobalScale) {
  const std::vector<std::uint8_t> codes{0x97, 0x32, 0, 0, 0, 0, 0, 0x80};
  const std::vector<std::uint8_t> scales{0xc0};  // -2
  const std::vector<float> values = dequantize({codes.data(), scales.data(), 1, 16, 0.25f});
  EXPECT_EQ(values[0], -3.0f);
  EXPECT_EQ(values[1], 0.25f);
  EXPECT_EQ(values[2], -0.5f);
  EXPECT_EQ(values[3], -0.75f);
  EXPECT_EQ(values[15], 0.0f);
}

TEST(Dequantize, RefusesANanScale) {
  const std::vector<std::uint8_t> codes(8);
  const std::vector<std::uint8_t> scales{0x7f};
  EXPECT_EQ(error_message([&] {
              dequantize({codes.data(), scales.data(), 1, 16});
            }),
            "dequantize: row 0, block 0: scale code 0x7f is NaN");
}

}  // namespace
}  // namespace thresher::nvfp4
