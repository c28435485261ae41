// SPDX-License-Identifier: Apache-2.0
#include "nvfp4/e4m3.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "nvfp4/nearest.hpp"

namespace thresher::nvfp4 {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

static_assert(decode_e4m3(0x7e) == 448.0f && encode_e4m3(448.0) == 0x7e, "usable at compile time");

// The value by the format's definition, for codes 0x00..0x7e.
double magnitude_by_definition(int code) {
  const int exponent = code >> 3;
  const int mantissa = code & 7;
  return exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
}

TEST(E4m3, DecodesEveryCodeByDefinition) {
  for (int code = 0; code < 0x7f; ++code) {
    const float value = decode_e4m3(static_cast<std::uint8_t>(code));
    EXPECT_EQ(value, magnitude_by_definition(code)) << code;
    EXPECT_FALSE(std::signbit(value)) << code;
    const float negative = decode_e4m3(static_cast<std::uint8_t>(code | 0x80));
    EXPECT_EQ(negative, -magnitude_by_definition(code)) << code;
    EXPECT_TRUE(std::signbit(negative)) << code;
  }
}

TEST(E4m3, DecodesLandmarks) {
  EXPECT_EQ(decode_e4m3(0x01), 0x1p-9f);
  EXPECT_EQ(decode_e4m3(0x07), 7 * 0x1p-9f);
  EXPECT_EQ(decode_e4m3(0x08), 0x1p-6f);
  EXPECT_EQ(decode_e4m3(0x38), 1.0f);
  EXPECT_EQ(decode_e4m3(0x7e), 448.0f);
  EXPECT_EQ(decode_e4m3(0xb9), -1.125f);
}

TEST(E4m3, OnlyTheTwoNanCodesAreNan) {
  for (int code = 0; code < 256; ++code) {
    const bool expected = code == 0x7f || code == 0xff;
    const auto byte = static_cast<std::uint8_t>(code);
    EXPECT_EQ(is_nan_e4m3(byte), expected) << code;
    EXPECT_EQ(std::isnan(decode_e4m3(byte)), expected) << code;
  }
  EXPECT_FALSE(std::signbit(decode_e4m3(0x7f)));
  EXPECT_TRUE(std::signbit(decode_e4m3(0xff)));
}

TEST(E4m3, EveryCodeSurvivesARoundTrip) {
  for (int code = 0; code < 256; ++code) {
    EXPECT_EQ(encode_e4m3(decode_e4m3(static_cast<std::uint8_t>(code))), code);
  }
}

TEST(E4m3, MidpointsGoToTheEvenCodeAndTheirNeighboursToTheNearest) {
  for (int code = 0; code < 0x7e; ++code) {
    const int above = code + 1;
    const auto midpoint =
        static_cast<float>((magnitude_by_definition(code) + magnitude_by_definition(above)) / 2);
    const int even = code % 2 == 0 ? code : above;
    EXPECT_EQ(encode_e4m3(midpoint), even) << midpoint;
    EXPECT_EQ(encode_e4m3(-midpoint), even | 0x80) << -midpoint;
    EXPECT_EQ(encode_e4m3(std::nextafter(midpoint, 0.0f)), code) << midpoint;
    EXPECT_EQ(encode_e4m3(std::nextafter(midpoint, kInfinity)), above) << midpoint;
    EXPECT_EQ(encode_e4m3(std::nextafter(double{midpoint}, 0.0)), code) << midpoint;
    EXPECT_EQ(encode_e4m3(std::nextafter(double{midpoint}, 1000.0)), above) << midpoint;
  }
}

TEST(E4m3, AgreesWithTryingEveryCode) {
  for (double value = 0x1p-12; value < 500; value *= 1.001) {
    const int expected = nearest_code(value, 0x7f, magnitude_by_definition);
    ASSERT_EQ(encode_e4m3(value), expected) << value;
    ASSERT_EQ(encode_e4m3(-value), expected | 0x80) << -value;
  }
}

TEST(E4m3, SaturatesAtTheLargestValue) {
  for (const float value : {448.0f, 449.0f, 464.0f, 480.0f, 512.0f, 1e30f, kInfinity}) {
    EXPECT_EQ(encode_e4m3(value), 0x7e) << value;
    EXPECT_EQ(encode_e4m3(-value), 0xfe) << value;
  }
}

TEST(E4m3, UnderflowKeepsTheSign) {
  for (const float value : {0.0f, 0x1p-149f, 0x1p-126f, 0x1p-20f, 0x1p-10f}) {
    EXPECT_EQ(encode_e4m3(value), 0x00) << value;
    EXPECT_EQ(encode_e4m3(-value), 0x80) << value;
  }
}

TEST(E4m3, NanBecomesNan) {
  EXPECT_EQ(encode_e4m3(kNan), 0x7f);
  EXPECT_EQ(encode_e4m3(-kNan), 0xff);
}

}  // namespace
}  // namespace thresher::nvfp4
