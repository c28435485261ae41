// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/disturbance.hpp"

#include <gtest/gtest.h>

namespace thresher::referee {
namespace {

using Marks = std::vector<bool>;

TEST(FindDisturbed, MarksReferencesOutOfTheirBand) {
  EXPECT_EQ(find_disturbed({{100}, {149}, {151}, {90}, {100}}),
            (Marks{false, false, true, false, false}));
}

TEST(FindDisturbed, MarksStolenTime) {
  EXPECT_EQ(find_disturbed({{100, 0.04}, {100, 0.06}, {100}}), (Marks{false, true, false}));
}

TEST(FindDisturbed, MarksNothingWhereHalfOfItIsLikeThat) {
  EXPECT_EQ(find_disturbed({{100, 0.5}, {100, 0.5}, {100}, {100}}), Marks(4, false));
  EXPECT_EQ(find_disturbed({}), Marks{});
}

TEST(FindDisturbed, NeedsNoReference) {
  EXPECT_EQ(find_disturbed({{0}, {0}, {0}}), Marks(3, false));
}

}  // namespace
}  // namespace thresher::referee
