// SPDX-License-Identifier: Apache-2.0
#include "gemm/random.hpp"

#include <gtest/gtest.h>

#include <set>

namespace thresher {
namespace {

// The hundredth number depends on every step of the generator. Expected values come from the
// published algorithms, written once more in another language.
std::uint64_t hundredth(Random random) {
  for (int i = 1; i < 100; ++i) random.next();
  return random.next();
}

TEST(Random, IsTheSameEverywhere) {
  EXPECT_EQ(Random(1).next(), 17254933023648552173u);
  EXPECT_EQ(hundredth(Random(1)), 6135880971529820752u);
  EXPECT_EQ(hundredth(Random(1, 7)), 374117928245086385u);
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
