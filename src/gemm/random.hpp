// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same on every machine and compiler, which the standard library's
// distributions are not. xoshiro256** by Blackman and Vigna, seeded through their splitmix64.
#pragma once

#include <bit>
#include <cstdint>

namespace thresher {

class Random {
 public:
  // Streams of one seed are independent of each other.
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0) {
    std::uint64_t stream_state = stream;
    std::uint64_t seed_state = seed ^ splitmix64(stream_state);
    for (std::uint64_t& word : state_) word = splitmix64(seed_state);
  }

  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // 0 <= result < count. The remainder favours small results by less than count / 2^64.
  std::uint64_t below(std::uint64_t count) { return next() % count; }

  // Both ends included.
  int between(int low, int high) {
    return low + static_cast<int>(below(static_cast<std::uint64_t>(high - low) + 1));
  }

 private:
  static std::uint64_t splitmix64(std::uint64_t& state) {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  std::uint64_t state_[4];
};

}  // namespace thresher
