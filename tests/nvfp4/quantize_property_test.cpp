// SPDX-License-Identifier: Apache-2.0
// The quantiser against brute force, on random matrices of several kinds: every scale and every
// code must be the nearest to its FP32 quotient, ties to even. Distances to a quotient are exact in
// double wherever two codes are about equally near.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "nvfp4/e2m1.hpp"
#include "nvfp4/e4m3.hpp"
#include "nvfp4/half.hpp"
#include "nvfp4/nearest.hpp"
#include "thresher/nvfp4.hpp"

namespace thresher::nvfp4 {
namespace {

constexpr std::int64_t kRows = 24;
constexpr std::int64_t kElements = 160;

struct Family {
  const char* name;
  float (*draw)(std::mt19937_64& random);
};

float gaussian(std::mt19937_64& random) { return std::normal_distribution<float>()(random); }

float gaussian_bf16(std::mt19937_64& random) {
  return bf16_to_float(float_to_bf16(0.02f * gaussian(random)));
}

// Multiples of 1/4 up to 12: many exact ties, in the codes and in the scales.
float quarters(std::mt19937_64& random) {
  return static_cast<float>(std::uniform_int_distribution<int>(-48, 48)(random)) / 4;
}

// Over 60 powers of two: scales at both ends of E4M3, saturated and clamped ones included.
float wide(std::mt19937_64& random) {
  const int exponent = std::uniform_int_distribution<int>(-40, 20)(random);
  return std::ldexp(gaussian(random), exponent);
}

// Mostly zeros, so that many blocks are all zero.
float sparse(std::mt19937_64& random) { return random() % 32 == 0 ? gaussian(random) : 0.0f; }

struct Case {
  Family family;
  bool global_scale;
};

std::string name_of(const Case& c) {
  return std::string(c.family.name) + (c.global_scale ? "_global" : "_plain");
}

void PrintTo(const Case& c, std::ostream* out) { *out << name_of(c); }

class QuantizeProperty : public testing::TestWithParam<Case> {
 protected:
  static constexpr std::uint64_t kSeed = 20240607;

  void SetUp() override {
    RecordProperty("seed", std::to_string(kSeed));
    std::mt19937_64 random(kSeed);
    values_.resize(kRows * kElements);
    for (float& value : values_) value = GetParam().family.draw(random);
    matrix_ = quantize(values_, kRows, kElements, {.global_scale = GetParam().global_scale});
  }

  int code_at(std::size_t i) const { return matrix_.codes[i / 2] >> (i % 2 * 4) & 15; }

  float block_amax(std::size_t block) const {
    float amax = 0;
    for (std::size_t i = block * 16; i < block * 16 + 16; ++i) {
      amax = std::max(amax, std::fabs(values_[i]));
    }
    return amax;
  }

  std::vector<float> values_;
  Nvfp4Matrix matrix_;
};

TEST_P(QuantizeProperty, EveryScaleIsTheNearest) {
  for (std::size_t block = 0; block < matrix_.scales.size(); ++block) {
    const float amax = block_amax(block);
    const float quotient = amax / (6.0f * matrix_.global_scale);
    const int nearest = nearest_code(
        quotient, 0x7f, [](int code) { return decode_e4m3(static_cast<std::uint8_t>(code)); });
    const int expected = amax == 0 ? 0 : std::max(nearest, 1);
    ASSERT_EQ(matrix_.scales[block], expected) << "block " << block << ", amax " << amax;
  }
}

TEST_P(QuantizeProperty, EveryCodeIsTheNearest) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const std::uint8_t scale = matrix_.scales[i / 16];
    if (scale == 0) {
      ASSERT_EQ(code_at(i), 0) << "element " << i;
      continue;
    }
    const float quotient = values_[i] / (decode_e4m3(scale) * matrix_.global_scale);
    const int nearest =
        nearest_code(std::fabs(quotient), 8, [](int code) { return kE2m1Magnitudes[code]; });
    const int sign = std::signbit(values_[i]) ? 8 : 0;
    ASSERT_EQ(code_at(i), nearest + sign) << "element " << i << ", value " << values_[i];
  }
}

TEST_P(QuantizeProperty, DequantizeReadsEveryElementWhereItBelongs) {
  const std::vector<float> read = dequantize(matrix_.view());
  ASSERT_EQ(read.size(), values_.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    const double exact = double{decode_e2m1(static_cast<std::uint8_t>(code_at(i)))} *
                         decode_e4m3(matrix_.scales[i / 16]) * matrix_.global_scale;
    ASSERT_EQ(read[i], static_cast<float>(exact)) << "element " << i;
  }
}

const Case kCases[] = {{{"gaussian", gaussian}, true},
                       {{"gaussian", gaussian}, false},
                       {{"gaussian_bf16", gaussian_bf16}, true},
                       {{"gaussian_bf16", gaussian_bf16}, false},
                       {{"quarters", quarters}, true},
                       {{"quarters", quarters}, false},
                       {{"wide", wide}, true},
                       {{"wide", wide}, false},
                       {{"sparse", sparse}, true},
                       {{"sparse", sparse}, false}};

INSTANTIATE_TEST_SUITE_P(, QuantizeProperty, testing::ValuesIn(kCases),
                         [](const auto& test) { return name_of(test.param); });

// What NVFP4 can hold without a global scale, provided each block has a 6 in it, comes back as the
// very bytes it was.
TEST(QuantizeRoundTrip, BlocksWithASixComeBackByteForByte) {
  std::mt19937_64 random(11);
  Nvfp4Matrix original{.codes = std::vector<std::uint8_t>(64 * 64),
                       .scales = std::vector<std::uint8_t>(64 * 8),
                       .rows = 64,
                       .k_elements = 128};
  for (std::uint8_t& codes : original.codes) codes = static_cast<std::uint8_t>(random());
  for (std::size_t block = 0; block < original.scales.size(); ++block) {
    original.scales[block] = static_cast<std::uint8_t>(1 + random() % 0x7e);
    original.codes[block * 8 + random() % 8] = 0x7f;
  }
  const Nvfp4Matrix again = quantize(dequantize(original.view()), 64, 128, {.global_scale = false});
  EXPECT_EQ(again.scales, original.scales);
  EXPECT_EQ(again.codes, original.codes);
}

}  // namespace
}  // namespace thresher::nvfp4
