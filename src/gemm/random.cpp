// SPDX-License-Identifier: Apache-2.0
#include "gemm/random.hpp"

#include <bit>

namespace thresher {
namespace {

std::uint64_t splitmix64(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

constexpr std::size_t kChachaBlocks = 4;  // side by side: compilers make vectors of it
constexpr int kDoubleRounds = 6;
using ChachaLanes = std::array<std::uint32_t, kChachaBlocks>;
using ChachaState = std::array<ChachaLanes, 16>;

void quarter_round(ChachaLanes& a, ChachaLanes& b, ChachaLanes& c, ChachaLanes& d) {
  const auto step = [](ChachaLanes& to, const ChachaLanes& from, ChachaLanes& turned, int bits) {
    for (std::size_t i = 0; i < kChachaBlocks; ++i) {
      to[i] += from[i];
      turned[i] = std::rotl(turned[i] ^ to[i], bits);
    }
  };
  step(a, b, d, 16);
  step(c, d, b, 12);
  step(a, b, d, 8);
  step(c, d, b, 7);
}

void double_round(ChachaState& x) {
  for (std::size_t i = 0; i < 4; ++i) quarter_round(x[i], x[4 + i], x[8 + i], x[12 + i]);
  for (std::size_t i = 0; i < 4; ++i) {
    quarter_round(x[i], x[4 + (i + 1) % 4], x[8 + (i + 2) % 4], x[12 + (i + 3) % 4]);
  }
}

std::uint32_t low_half(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
std::uint32_t high_half(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }

}  // namespace

Random::Random(std::uint64_t seed, std::uint64_t stream) {
  std::uint64_t stream_state = stream;
  std::uint64_t seed_state = seed ^ splitmix64(stream_state);
  for (std::uint64_t& word : state_) word = splitmix64(seed_state);
}

Random Random::secret(std::uint64_t seed, std::uint64_t stream) {
  Random random;
  random.is_secret_ = true;
  random.state_ = {seed, stream, 0x7468726573686572u, 0x7365637265747321u};
  return random;
}

void Random::refill() {
  if (is_secret_) {
    refill_secret();
  } else {
    refill_public();
  }
  used_ = 0;
}

void Random::refill_public() {
  for (std::uint64_t& word : words_) {
    word = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
  }
}

// "expand 32-byte k", the key, a counter of 64 bits and no nonce.
void Random::refill_secret() {
  ChachaState start;
  const std::uint32_t constants[] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  for (std::size_t lane = 0; lane < kChachaBlocks; ++lane) {
    for (std::size_t i = 0; i < 4; ++i) {
      start[i][lane] = constants[i];
      start[4 + 2 * i][lane] = low_half(state_[i]);
      start[5 + 2 * i][lane] = high_half(state_[i]);
    }
    start[12][lane] = low_half(block_ + lane);
    start[13][lane] = high_half(block_ + lane);
    start[14][lane] = start[15][lane] = 0;
  }
  block_ += kChachaBlocks;
  ChachaState x = start;
  for (int i = 0; i < kDoubleRounds; ++i) double_round(x);
  for (std::size_t lane = 0; lane < kChachaBlocks; ++lane) {
    for (std::size_t i = 0; i < 8; ++i) {
      const std::uint32_t low = x[2 * i][lane] + start[2 * i][lane];
      const std::uint32_t high = x[2 * i + 1][lane] + start[2 * i + 1][lane];
      words_[8 * lane + i] = low | static_cast<std::uint64_t>(high) << 32;
    }
  }
}

}  // namespace thresher
