// SPDX-License-Identifier: Apache-2.0
#include "gemm/random.hpp"

#include <gtest/gtest.h>

#include <set>

namespace thresher {
namespace {

TEST(Random, IsTheSameEverywhere) {
  Random random(1);
  EXPECT_EQ(random.next(), 17254933023648552173u);
  EXPECT_EQ(random.next(), 10273995337764303472u);
  Random stream(1, 7);
  EXPECT_EQ(stream.next(), 11267009516587750391u);
}

TEST(Random, SeedsAndStreamsDiffer) {
  std::set<std::uint64_t> firsts;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (std::uint64_t stream = 0; stream < 100; ++stream) {
      firsts.insert(Random(seed, stream).next());
    }
  }
  EXPECT_EQ(firsts.size(), 10000u);
}

TEST(Random, StaysInRangeAndReachesBothEnds) {
  Random random(3);
  std::set<int> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.between(-2, 2));
  EXPECT_EQ(seen, (std::set<int>{-2, -1, 0, 1, 2}));
  for (int i = 0; i < 1000; ++i) EXPECT_LT(random.below(7), 7u);
}

}  // namespace
}  // namespace thresher
