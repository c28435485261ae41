// SPDX-License-Identifier: Apache-2.0
#include "gemm/random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
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

// ChaCha12 with the key (seed, stream, "rehserht", "!tserces") and no nonce.
TEST(Random, SecretsAreTheSameEverywhere) {
  EXPECT_EQ(Random::secret(1).next(), 10663549572179909746u);
  EXPECT_EQ(hundredth(Random::secret(1)), 889417139806087689u);
  EXPECT_EQ(hundredth(Random::secret(1, 7)), 16249056107829282742u);
}

TEST(Random, SeedsAndStreamsDiffer) {
  std::set<std::uint64_t> firsts;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (std::uint64_t stream = 0; stream < 100; ++stream) {
      firsts.insert(Random(seed, stream).next());
      firsts.insert(Random::secret(seed, stream).next());
    }
  }
  EXPECT_EQ(firsts.size(), 20000u);
}

// What comes after four numbers, if they are xoshiro256**'s: its scrambler can be undone, and what
// is left is linear.
std::uint64_t fifth_after(const std::array<std::uint64_t, 4>& numbers) {
  std::array<std::uint64_t, 4> w;  // the second word of the state, step by step
  for (std::size_t i = 0; i < 4; ++i) {
    w[i] = std::rotr(numbers[i] * 0x8e38e38e38e38e39u, 7) * 0xcccccccccccccccdu;
  }
  std::uint64_t s1 = w[1];
  std::uint64_t s2 = w[0] ^ w[1] ^ w[0] << 17;
  std::uint64_t s0 = w[2] ^ w[1] ^ s2;
  std::uint64_t s3 = (w[3] ^ w[2] ^ s2 ^ s0 ^ w[1] << 17) ^ s0 ^ s1;
  for (int step = 0; step < 3; ++step) {
    const std::uint64_t shifted = s1 << 17;
    s2 ^= s0;
    s3 ^= s1;
    s1 ^= s2;
    s0 ^= s3;
    s2 ^= shifted;
    s3 = std::rotl(s3, 45);
  }
  return std::rotl(s1 * 5, 7) * 9;
}

TEST(Random, SecretsCannotBeForeseen) {
  const auto is_foreseen = [](Random random) {
    std::array<std::uint64_t, 4> seen;
    for (std::uint64_t& number : seen) number = random.next();
    return fifth_after(seen) == random.next();
  };
  EXPECT_TRUE(is_foreseen(Random(5)));
  EXPECT_FALSE(is_foreseen(Random::secret(5)));
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
