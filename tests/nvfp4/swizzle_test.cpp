// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "nvfp4/error_message.hpp"
#include "thresher/nvfp4.hpp"

namespace thresher::nvfp4 {
namespace {

std::vector<std::uint8_t> random_bytes(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

// Where the one non-zero scale of a rows x scale_count_per_row matrix ends up.
std::size_t position_of(std::int64_t row, std::int64_t scale, std::int64_t rows,
                        std::int64_t scale_count_per_row) {
  std::vector<std::uint8_t> scales(static_cast<std::size_t>(rows * scale_count_per_row));
  scales[row * scale_count_per_row + scale] = 1;
  const auto swizzled = swizzle_scales_128x4(scales, rows, scale_count_per_row);
  return static_cast<std::size_t>(std::find(swizzled.begin(), swizzled.end(), 1) -
                                  swizzled.begin());
}

TEST(Swizzle, HandComputedPositionsInsideATile) {
  EXPECT_EQ(position_of(0, 0, 128, 4), 0u);
  EXPECT_EQ(position_of(0, 3, 128, 4), 3u);
  EXPECT_EQ(position_of(1, 0, 128, 4), 16u);
  EXPECT_EQ(position_of(31, 0, 128, 4), 496u);
  EXPECT_EQ(position_of(32, 0, 128, 4), 4u);
  EXPECT_EQ(position_of(33, 2, 128, 4), 22u);
  EXPECT_EQ(position_of(64, 0, 128, 4), 8u);
  EXPECT_EQ(position_of(127, 3, 128, 4), 511u);
}

TEST(Swizzle, TilesFollowEachOtherRowMajor) {
  EXPECT_EQ(position_of(0, 4, 256, 12), 512u);
  EXPECT_EQ(position_of(0, 8, 256, 12), 1024u);
  EXPECT_EQ(position_of(128, 0, 256, 12), 1536u);
  EXPECT_EQ(position_of(161, 5, 256, 12), 1536u + 512u + 16u + 4u + 1u);
}

TEST(Swizzle, PadsWithZeros) {
  const std::vector<std::uint8_t> scales(3 * 5, 0xff);
  const auto swizzled = swizzle_scales_128x4(scales, 3, 5);
  EXPECT_EQ(swizzled.size(), 2u * 512u);
  EXPECT_EQ(std::count(swizzled.begin(), swizzled.end(), 0xff), 3 * 5);
  EXPECT_EQ(std::count(swizzled.begin(), swizzled.end(), 0), 2 * 512 - 3 * 5);
}

TEST(Swizzle, RoundTripIsLossless) {
  for (const std::int64_t rows : {1, 31, 32, 33, 127, 128, 129, 300}) {
    for (const std::int64_t scale_count_per_row : {1, 3, 4, 5, 28, 33}) {
      const auto scales = random_bytes(rows * scale_count_per_row, 7);
      const auto swizzled = swizzle_scales_128x4(scales, rows, scale_count_per_row);
      EXPECT_EQ(unswizzle_scales_128x4(swizzled, rows, scale_count_per_row), scales)
          << rows << " x " << scale_count_per_row;
    }
  }
}

TEST(Swizzle, InverseRoundTripIsLosslessWithoutPadding) {
  const auto swizzled = random_bytes(256 * 8, 8);
  EXPECT_EQ(swizzle_scales_128x4(unswizzle_scales_128x4(swizzled, 256, 8), 256, 8), swizzled);
}

TEST(Swizzle, NoRowsGiveNoBytes) {
  EXPECT_TRUE(swizzle_scales_128x4({}, 0, 4).empty());
  EXPECT_TRUE(unswizzle_scales_128x4({}, 0, 4).empty());
}

TEST(Swizzle, RefusesABufferOfTheWrongSize) {
  const std::vector<std::uint8_t> bytes(512);
  EXPECT_EQ(error_message([&] { swizzle_scales_128x4(bytes, 128, 5); }),
            "swizzle_scales_128x4: 512 scales given, 128 x 5 = 640 needed");
  EXPECT_EQ(error_message([&] { unswizzle_scales_128x4(bytes, 129, 4); }),
            "unswizzle_scales_128x4: 512 swizzled scales given, 256 x 4 = 1024 needed");
}

TEST(Swizzle, RefusesAbsurdExtents) {
  EXPECT_EQ(error_message([] { swizzle_scales_128x4({}, -1, 4); }),
            "swizzle_scales_128x4: rows = -1 is not in 0..16777216");
  EXPECT_EQ(error_message([] { swizzle_scales_128x4({}, 1, 0); }),
            "swizzle_scales_128x4: scale_count_per_row = 0 is not in 1..1048576");
  EXPECT_EQ(error_message(
                [] { unswizzle_scales_128x4({}, 1, std::numeric_limits<std::int64_t>::max()); }),
            "unswizzle_scales_128x4: scale_count_per_row = 9223372036854775807 is not in "
            "1..1048576");
  EXPECT_EQ(error_message([] { unswizzle_scales_128x4({}, 1 << 24, 1 << 20); }),
            "unswizzle_scales_128x4: 16777216 x 16777216 = 281474976710656 elements are more than "
            "1099511627776");
}

}  // namespace
}  // namespace thresher::nvfp4
