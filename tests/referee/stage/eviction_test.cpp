// SPDX-License-Identifier: Apache-2.0
#include "referee/stage/eviction.hpp"

#include <gtest/gtest.h>

namespace thresher::referee {
namespace {

const std::map<std::string, std::vector<int>> kTwoCaches = {{"0-3", {0, 1, 3}}, {"4-7", {4, 5}}};

TEST(Eviction, EveryLastCacheReadsAllOfIt) {
  const std::vector<WalkShare> expected = {
      {0, 0, 200}, {1, 200, 200}, {3, 400, 200}, {4, 0, 300}, {5, 300, 300}};
  EXPECT_EQ(walk_shares(kTwoCaches, {}, 600), expected);
  EXPECT_EQ(walk_shares(kTwoCaches, {3, 4}, 600), expected);
}

// All of its cores help, also those that no arm is bound to.
TEST(Eviction, CachesThatNoArmUsesAreLeftAlone) {
  EXPECT_EQ(walk_shares(kTwoCaches, {5}, 600),
            (std::vector<WalkShare>{{4, 0, 300}, {5, 300, 300}}));
}

}  // namespace
}  // namespace thresher::referee
