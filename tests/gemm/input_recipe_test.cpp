// SPDX-License-Identifier: Apache-2.0
// The tables behind the input families: the exactness condition, and that "natural" is.
#include "gemm/input_recipe.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "gemm/random.hpp"
#include "nvfp4/e2m1.hpp"
#include "nvfp4/e4m3.hpp"

namespace thresher {
namespace {

// Largest and smallest non-zero magnitude a recipe can draw.
struct Range {
  double least = 1e30;
  double largest = 0;
};

Range range_of(const Nvfp4Recipe& recipe) {
  Range range;
  for (const std::uint8_t code : recipe.codes) {
    for (const std::uint8_t scale : recipe.scales) {
      const double value = std::abs(nvfp4::decode_e2m1(code) * nvfp4::decode_e4m3(scale));
      if (value == 0) continue;
      range.least = std::min(range.least, value);
      range.largest = std::max(range.largest, value);
    }
  }
  return range;
}

TEST(InputRecipe, ExactSumsFitInTheBitsOfFp32) {
  for (const std::int64_t k : {16, 7280, 7296, 116496, 116512, 16777216}) {
    const Range weights = range_of(nvfp4_recipe(InputFamily::kExact, k));
    // The least magnitude of these recipes is the unit: all values are whole multiples of it.
    const double units = weights.largest / weights.least;
    EXPECT_LE(static_cast<double>(k) * units * units, 0x1p24) << k;
    EXPECT_LE(static_cast<double>(k) * units * exact_a16_max(k), 0x1p24) << k;
  }
}

TEST(InputRecipe, ExactUsesAsManyValuesAsFit) {
  EXPECT_EQ(range_of(nvfp4_recipe(InputFamily::kExact, 7280)).largest, 12);
  EXPECT_EQ(exact_a16_max(7280), 48);
  EXPECT_EQ(range_of(nvfp4_recipe(InputFamily::kExact, 7296)).largest, 6);
  EXPECT_EQ(exact_a16_max(7296), 12);
  EXPECT_EQ(range_of(nvfp4_recipe(InputFamily::kExact, 116512)).largest, 1);
  EXPECT_EQ(exact_a16_max(116512), 1);
}

TEST(InputRecipe, FullHasEveryCodeAndEveryFiniteScale) {
  const Nvfp4Recipe recipe = nvfp4_recipe(InputFamily::kFull, 16);
  EXPECT_EQ(std::set(recipe.codes.begin(), recipe.codes.end()).size(), 16u);
  const std::set scales(recipe.scales.begin(), recipe.scales.end());
  EXPECT_EQ(scales.size(), 254u);
  EXPECT_FALSE(scales.contains(0x7f));
  EXPECT_FALSE(scales.contains(0xff));
}

std::vector<float> gaussian_values(std::size_t count) {
  Random random(5);
  std::vector<float> values(count);
  for (float& value : values) {
    double sum = 0;  // twelve uniform numbers: deviation 1, and tails long enough for a maximum
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random.next() >> 11) * 0x1p-53;
    value = static_cast<float>(sum - 6);
  }
  return values;
}

TEST(InputRecipe, NaturalLooksLikeQuantisedGaussians) {
  constexpr std::int64_t kRows = 512;
  constexpr std::int64_t kElements = 1024;
  const Nvfp4Matrix matrix = quantize(gaussian_values(kRows * kElements), kRows, kElements);
  std::array<double, 16> share{};
  for (const std::uint8_t pair : matrix.codes) {
    share[pair & 15] += 1.0 / (kRows * kElements);
    share[pair >> 4] += 1.0 / (kRows * kElements);
  }
  const Nvfp4Recipe recipe = nvfp4_recipe(InputFamily::kNatural, kElements);
  for (int code = 0; code < 16; ++code) {
    const auto count = std::count(recipe.codes.begin(), recipe.codes.end(), code);
    EXPECT_NEAR(static_cast<double>(count) / 256, share[code], 0.006) << code;
  }
  // The scales' size depends on the one largest value of the matrix, so only the middle is
  // compared.
  std::vector<std::uint8_t> scales = matrix.scales;
  std::nth_element(scales.begin(), scales.begin() + scales.size() / 2, scales.end());
  EXPECT_NEAR(recipe.scales[128], scales[scales.size() / 2], 2);
}

TEST(InputRecipe, KnowsItsSize) {
  Nvfp4Recipe recipe;
  recipe.codes.fill(nvfp4::encode_e2m1(-3));
  recipe.scales.fill(nvfp4::encode_e4m3(0.5));
  EXPECT_EQ(rms_of(recipe), 1.5);
}

}  // namespace
}  // namespace thresher
