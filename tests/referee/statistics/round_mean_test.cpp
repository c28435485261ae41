// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/round_mean.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace thresher::referee {
namespace {

// sd = 0.01 sqrt(2.5), standard error = 0.01 sqrt(0.5), t(4) of 95 % = 2.131847.
TEST(RoundMean, BoundsAreStudents) {
  const RoundMean mean = mean_of_rounds(std::vector{0.01, 0.02, 0.03, 0.04, 0.05});
  EXPECT_EQ(mean.count, 5);
  EXPECT_NEAR(mean.mean, 0.03, 1e-15);
  EXPECT_NEAR(mean.sd, 0.0158113883, 1e-10);
  EXPECT_NEAR(mean.standard_error(), 0.0070710678, 1e-10);
  EXPECT_NEAR(mean.lower(0.95), 0.03 - 2.131846786 * 0.0070710678, 1e-9);
  EXPECT_NEAR(mean.upper(0.95), 0.03 + 2.131846786 * 0.0070710678, 1e-9);
}

TEST(RoundMean, ASingleRoundSaysNothingAboutItsError) {
  const RoundMean mean = mean_of_rounds(std::vector{0.25});
  EXPECT_EQ(mean.mean, 0.25);
  EXPECT_EQ(mean.lower(0.95), -INFINITY);
  EXPECT_EQ(mean.upper(0.95), INFINITY);
}

// t(3) / sqrt(4) = 1.18 and t(4) / sqrt(5) = 0.95 at 95 %.
TEST(RoundsNeeded, IsTheFirstNumberThatSuffices) {
  EXPECT_EQ(rounds_needed({.count = 2, .sd = 0.01}, 0.01, 0.95), 5);
  EXPECT_EQ(rounds_needed({.count = 2, .sd = 0.01}, 0.012, 0.95), 4);
  EXPECT_EQ(rounds_needed({.count = 7, .sd = 0.01}, 0.01, 0.95), 8);  // always one more at least
  for (const double distance : {0.0008, 0.001, 0.003, 0.02, 0.5}) {
    const int needed = rounds_needed({.count = 2, .sd = 0.01}, distance, 0.99);
    const auto margin = [](int count) {
      return RoundMean{.count = count, .sd = 0.01}.margin(0.99);
    };
    EXPECT_LT(margin(needed), distance);
    EXPECT_TRUE(needed == 3 || margin(needed - 1) >= distance) << needed;
  }
}

TEST(RoundsNeeded, EndsWhereNoNumberSuffices) {
  EXPECT_EQ(rounds_needed({.count = 5, .sd = 0.01}, 0, 0.95), kRoundsNeededMax);
  EXPECT_EQ(rounds_needed({.count = 5, .sd = 0}, 0, 0.95), kRoundsNeededMax);
  EXPECT_EQ(rounds_needed({.count = 1, .sd = INFINITY}, 0.01, 0.95), kRoundsNeededMax);
}

}  // namespace
}  // namespace thresher::referee
