// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same on every machine and compiler, which the standard library's
// distributions are not. Two kinds:
//   public   xoshiro256** by Blackman and Vigna, seeded through their splitmix64: for tests, models
//            and whatever nobody gains by foreseeing. A few numbers tell all that follow.
//   secret   ChaCha with 12 rounds by Bernstein: no number tells anything about another, or about
//            the seed. All that a contestant sees or could use comes from one of these.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace thresher {

class Random {
 public:
  // Public. Streams of one seed are independent of each other.
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0);
  // Whoever does not know the seed cannot tell these from chance.
  static Random secret(std::uint64_t seed, std::uint64_t stream = 0);

  std::uint64_t next() {
    if (used_ == words_.size()) refill();
    return words_[used_++];
  }

  // 0 <= result < count. The remainder favours small results by less than count / 2^64.
  std::uint64_t below(std::uint64_t count) { return next() % count; }

  // Both ends included.
  int between(int low, int high) {
    return low + static_cast<int>(below(static_cast<std::uint64_t>(high - low) + 1));
  }

 private:
  static constexpr std::size_t kWordCount = 32;  // four blocks of ChaCha

  Random() = default;
  void refill();
  void refill_public();
  void refill_secret();

  bool is_secret_ = false;
  std::array<std::uint64_t, 4> state_ = {};  // xoshiro's; a key and nothing else for ChaCha
  std::uint64_t block_ = 0;                  // ChaCha's next
  std::array<std::uint64_t, kWordCount> words_ = {};
  std::size_t used_ = kWordCount;
};

// Every order is as likely as any other.
template <typename Items>
void shuffle(Items& items, Random& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

}  // namespace thresher
