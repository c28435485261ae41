// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "nvfp4/error_message.hpp"
#include "thresher/nvfp4.hpp"

namespace thresher::nvfp4 {
namespace {

// Two rows of 48 elements, all zero.
class Check : public testing::Test {
 protected:
  std::string complaint() {
    return error_message([&] { check(view_, "weights"); });
  }

  std::vector<std::uint8_t> codes_ = std::vector<std::uint8_t>(2 * 24);
  std::vector<std::uint8_t> scales_ = std::vector<std::uint8_t>(2 * 3);
  Nvfp4View view_{codes_.data(), scales_.data(), 2, 48, 1.0f};
};

TEST_F(Check, AcceptsEveryFiniteScaleCode) {
  for (int code = 0; code < 256; ++code) {
    if ((code & 0x7f) == 0x7f) continue;
    scales_[5] = static_cast<std::uint8_t>(code);
    EXPECT_EQ(complaint(), "no error") << code;
  }
}

TEST_F(Check, AcceptsNoRowsWithoutPointers) {
  view_ = {.rows = 0, .k_elements = 48};
  EXPECT_EQ(complaint(), "no error");
}

TEST_F(Check, NamesRowAndBlockOfANanScale) {
  scales_[5] = 0x7f;
  EXPECT_EQ(complaint(), "weights: row 1, block 2: scale code 0x7f is NaN");
  scales_[1] = 0xff;
  EXPECT_EQ(complaint(), "weights: row 0, block 1: scale code 0xff is NaN");
}

TEST_F(Check, RefusesNullPointers) {
  view_.codes = nullptr;
  EXPECT_EQ(complaint(), "weights: codes is null");
  view_.codes = codes_.data();
  view_.scales = nullptr;
  EXPECT_EQ(complaint(), "weights: scales is null");
}

TEST_F(Check, RefusesAGlobalScaleThatIsNotFinite) {
  view_.global_scale = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(complaint(), "weights: global_scale = nan is not finite");
  view_.global_scale = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(complaint(), "weights: global_scale = -inf is not finite");
}

TEST_F(Check, RefusesRowsOutOfRange) {
  view_.rows = -2;
  EXPECT_EQ(complaint(), "weights: rows = -2 is not in 0..16777216");
  view_.rows = 16777217;
  EXPECT_EQ(complaint(), "weights: rows = 16777217 is not in 0..16777216");
}

TEST_F(Check, RefusesKElementsOutOfRange) {
  view_.k_elements = 0;
  EXPECT_EQ(complaint(), "weights: k_elements = 0 is not in 16..16777216");
  view_.k_elements = -16;
  EXPECT_EQ(complaint(), "weights: k_elements = -16 is not in 16..16777216");
  view_.k_elements = 16777232;
  EXPECT_EQ(complaint(), "weights: k_elements = 16777232 is not in 16..16777216");
}

TEST_F(Check, RefusesKElementsThatAreNoMultipleOf16) {
  view_.k_elements = 40;
  EXPECT_EQ(complaint(), "weights: k_elements = 40 is not a multiple of 16");
}

TEST_F(Check, RefusesTooManyElements) {
  view_.rows = 65537;
  view_.k_elements = 16777216;
  EXPECT_EQ(complaint(),
            "weights: 65537 x 16777216 = 1099528404992 elements are more than 1099511627776");
}

}  // namespace
}  // namespace thresher::nvfp4
