// SPDX-License-Identifier: Apache-2.0
#include "referee/timing/weather.hpp"

#include <gtest/gtest.h>

namespace thresher::referee {
namespace {

TEST(ReferenceSpin, TakesSomeTimeAndNotMuch) {
  EXPECT_GT(reference_spin_ns(), 1e3);
  EXPECT_LT(reference_spin_ns(), 1e9);
}

TEST(StealShare, IsOfTheTimeBetween) {
  EXPECT_DOUBLE_EQ(steal_share({10, 1000}, {15, 1100}), 0.05);
  EXPECT_EQ(steal_share({10, 1000}, {10, 1000}), 0);  // no tick has passed
  EXPECT_EQ(steal_share({}, {}), 0);                  // nobody knows
}

TEST(StealShare, TimeNeverRunsBackwards) {
  const StealCount before = steal_so_far();
  const StealCount after = steal_so_far();
  EXPECT_GE(after.all, before.all);
  EXPECT_GE(after.stolen, 0);
}

}  // namespace
}  // namespace thresher::referee
