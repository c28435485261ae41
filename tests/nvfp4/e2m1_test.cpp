// SPDX-License-Identifier: Apache-2.0
#include "nvfp4/e2m1.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "nvfp4/nearest.hpp"

namespace thresher::nvfp4 {
namespace {

static_assert(decode_e2m1(0xf) == -6.0f && encode_e2m1(-6.0) == 0xf, "usable at compile time");

TEST(E2m1, DecodesEveryCode) {
  const float magnitudes[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  for (int code = 0; code < 8; ++code) {
    EXPECT_EQ(decode_e2m1(static_cast<std::uint8_t>(code)), magnitudes[code]);
    EXPECT_EQ(decode_e2m1(static_cast<std::uint8_t>(code + 8)), -magnitudes[code]);
  }
  EXPECT_FALSE(std::signbit(decode_e2m1(0)));
  EXPECT_TRUE(std::signbit(decode_e2m1(8)));
}

TEST(E2m1, DecodeIgnoresTheHighNibble) { EXPECT_EQ(decode_e2m1(0xf3), 1.5f); }

TEST(E2m1, EveryCodeSurvivesARoundTrip) {
  for (std::uint8_t code = 0; code < 16; ++code) EXPECT_EQ(encode_e2m1(decode_e2m1(code)), code);
}

TEST(E2m1, MidpointsGoToTheEvenCodeAndTheirNeighboursToTheNearest) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (int code = 0; code < 7; ++code) {
    const int above = code + 1;
    const float midpoint = (kE2m1Magnitudes[code] + kE2m1Magnitudes[above]) / 2;
    const int even = code % 2 == 0 ? code : above;
    EXPECT_EQ(encode_e2m1(midpoint), even) << midpoint;
    EXPECT_EQ(encode_e2m1(-midpoint), even + 8) << -midpoint;
    EXPECT_EQ(encode_e2m1(std::nextafter(midpoint, 0.0f)), code) << midpoint;
    EXPECT_EQ(encode_e2m1(std::nextafter(midpoint, kInfinity)), above) << midpoint;
    EXPECT_EQ(encode_e2m1(std::nextafter(double{midpoint}, 0.0)), code) << midpoint;
    EXPECT_EQ(encode_e2m1(std::nextafter(double{midpoint}, 10.0)), above) << midpoint;
  }
}

TEST(E2m1, AgreesWithTryingEveryCode) {
  for (int i = 0; i <= 7 * 4096; ++i) {
    const double value = i / 4096.0;
    const int expected = nearest_code(value, 8, [](int code) { return kE2m1Magnitudes[code]; });
    ASSERT_EQ(encode_e2m1(value), expected) << value;
    ASSERT_EQ(encode_e2m1(-value), expected + 8) << -value;
  }
}

TEST(E2m1, SaturatesAtSix) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double value : {6.5, 7.0, 8.0, 1e30, kInfinity}) {
    EXPECT_EQ(encode_e2m1(value), 7);
    EXPECT_EQ(encode_e2m1(-value), 15);
  }
}

TEST(E2m1, KeepsTheSignOfZero) {
  EXPECT_EQ(encode_e2m1(0.0), 0);
  EXPECT_EQ(encode_e2m1(-0.0), 8);
  EXPECT_EQ(encode_e2m1(-1e-30), 8);
}

}  // namespace
}  // namespace thresher::nvfp4
