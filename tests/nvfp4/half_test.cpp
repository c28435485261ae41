// SPDX-License-Identifier: Apache-2.0
// Both 16-bit formats go through the same exhaustive tests; a Format holds what tells them apart.
#include "nvfp4/half.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <string>

namespace thresher::nvfp4 {
namespace {

constexpr float kFloatInfinity = std::numeric_limits<float>::infinity();
constexpr float kFloatNan = std::numeric_limits<float>::quiet_NaN();

static_assert(fp16_to_float(0x3c00) == 1.0f && float_to_fp16(1.0f) == 0x3c00);
static_assert(bf16_to_float(0x3f80) == 1.0f && float_to_bf16(1.0f) == 0x3f80);

struct Format {
  const char* name;
  int mantissa_bits;
  int exponent_bias;
  std::uint16_t infinity;
  float (*to_float)(std::uint16_t);
  std::uint16_t (*from_float)(float);
  std::uint16_t (*from_double)(double);
};

void PrintTo(const Format& format, std::ostream* out) { *out << format.name; }

const Format kFormats[] = {{"fp16", 10, 15, 0x7c00, fp16_to_float, float_to_fp16, double_to_fp16},
                           {"bf16", 7, 127, 0x7f80, bf16_to_float, float_to_bf16, double_to_bf16}};

// The value by the format's definition. The code of infinity gives the power of two that would
// follow the largest value, which is what rounding compares with.
double magnitude_by_definition(const Format& format, int code) {
  const int exponent = code >> format.mantissa_bits;
  const int mantissa = code & ((1 << format.mantissa_bits) - 1);
  const int implicit_bit = exponent == 0 ? 0 : 1 << format.mantissa_bits;
  return std::ldexp(implicit_bit + mantissa,
                    std::max(exponent, 1) - format.exponent_bias - format.mantissa_bits);
}

class Half : public testing::TestWithParam<Format> {};

INSTANTIATE_TEST_SUITE_P(, Half, testing::ValuesIn(kFormats),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(Half, DecodesEveryCodeByDefinition) {
  const Format& format = GetParam();
  for (int code = 0; code < 0x8000; ++code) {
    const float value = format.to_float(static_cast<std::uint16_t>(code));
    const float negative = format.to_float(static_cast<std::uint16_t>(code | 0x8000));
    ASSERT_FALSE(std::signbit(value)) << code;
    ASSERT_TRUE(std::signbit(negative)) << code;
    if (code > format.infinity) {
      ASSERT_TRUE(std::isnan(value) && std::isnan(negative)) << code;
      continue;
    }
    const double expected =
        code == format.infinity ? kFloatInfinity : magnitude_by_definition(format, code);
    ASSERT_EQ(value, expected) << code;
    ASSERT_EQ(negative, -expected) << code;
  }
}

TEST_P(Half, EveryCodeSurvivesARoundTrip) {
  const Format& format = GetParam();
  for (int code = 0; code < 0x10000; ++code) {
    const float value = format.to_float(static_cast<std::uint16_t>(code));
    const std::uint16_t from_float = format.from_float(value);
    const std::uint16_t from_double = format.from_double(value);
    if ((code & 0x7fff) > format.infinity) {
      ASSERT_GT(from_float & 0x7fff, format.infinity) << code;
      ASSERT_EQ(from_float & 0x8000, code & 0x8000) << code;
      ASSERT_EQ(from_double, from_float) << code;
    } else {
      ASSERT_EQ(from_float, code);
      ASSERT_EQ(from_double, code);
    }
  }
}

TEST_P(Half, MidpointsGoToTheEvenCodeAndTheirNeighboursToTheNearest) {
  const Format& format = GetParam();
  for (int code = 0; code < format.infinity; ++code) {
    const int above = code + 1;
    const double midpoint =
        (magnitude_by_definition(format, code) + magnitude_by_definition(format, above)) / 2;
    const auto midpoint_float = static_cast<float>(midpoint);
    ASSERT_EQ(midpoint_float, midpoint) << "both formats' midpoints fit a float";
    const int even = code % 2 == 0 ? code : above;
    ASSERT_EQ(format.from_double(midpoint), even) << midpoint;
    ASSERT_EQ(format.from_double(-midpoint), even | 0x8000) << midpoint;
    ASSERT_EQ(format.from_float(midpoint_float), even) << midpoint;
    ASSERT_EQ(format.from_float(-midpoint_float), even | 0x8000) << midpoint;
    ASSERT_EQ(format.from_double(std::nextafter(midpoint, 0.0)), code) << midpoint;
    ASSERT_EQ(format.from_double(std::nextafter(midpoint, 1e300)), above) << midpoint;
    ASSERT_EQ(format.from_float(std::nextafter(midpoint_float, 0.0f)), code) << midpoint;
    ASSERT_EQ(format.from_float(std::nextafter(midpoint_float, kFloatInfinity)), above) << midpoint;
  }
}

TEST_P(Half, OverflowGivesInfinity) {
  const Format& format = GetParam();
  for (const double value : {1e39, 1e300, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(format.from_double(value), format.infinity);
    EXPECT_EQ(format.from_double(-value), format.infinity | 0x8000);
  }
  EXPECT_EQ(format.from_float(kFloatInfinity), format.infinity);
  EXPECT_EQ(format.from_float(-kFloatInfinity), format.infinity | 0x8000);
  EXPECT_EQ(format.from_float(std::numeric_limits<float>::max()), format.infinity);
}

TEST_P(Half, UnderflowGivesZeroWithItsSign) {
  const Format& format = GetParam();
  for (const double value : {0.0, 5e-324, 2.3e-308, 1e-300, 0x1p-140}) {
    EXPECT_EQ(format.from_double(value), 0);
    EXPECT_EQ(format.from_double(-value), 0x8000);
  }
}

TEST_P(Half, NanStaysNanWithItsSign) {
  const Format& format = GetParam();
  EXPECT_GT(format.from_float(kFloatNan), format.infinity);
  EXPECT_GT(format.from_float(-kFloatNan) & 0x7fff, format.infinity);
  EXPECT_LT(format.from_float(kFloatNan), 0x8000);
  EXPECT_GE(format.from_float(-kFloatNan), 0x8000);
}

// Just beyond a midpoint by less than a float can show: through float it would land on the midpoint
// and go down to the even code.
TEST_P(Half, DoubleIsRoundedOnce) {
  const Format& format = GetParam();
  const double half_ulp = std::ldexp(1.0, -format.mantissa_bits - 1);
  const double value = 1.0 + half_ulp + 0x1p-40;
  const std::uint16_t one = format.from_double(1.0);
  EXPECT_EQ(format.from_double(value), one + 1);
  EXPECT_EQ(format.from_float(static_cast<float>(value)), one);
}

}  // namespace
}  // namespace thresher::nvfp4
