// SPDX-License-Identifier: Apache-2.0
#include "gpu/gemm/weight_words.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>

namespace thresher::gpu {
namespace {

using Row = std::array<std::uint8_t, kRowCodeBytes>;
using PairWords = std::array<std::uint32_t, 2 * kRowCodeBytes / 4>;

template <hw::Operand kOperand>
PairWords words_of(const Row& row, const Row& other) {
  std::array<std::uint8_t, sizeof(PairWords)> bytes;
  pack_row_pair<kOperand>(row.data(), other.data(), bytes.data());
  PairWords words;
  std::memcpy(words.data(), bytes.data(), sizeof words);
  return words;
}

// A code on its own, wherever it stands, is the bits that the layout names, and no other.
template <hw::Operand kOperand>
void expect_layout() {
  constexpr CodeBits kAt = code_bits(kOperand);
  for (int k = 0; k < kTileK; ++k) {
    for (int is_other = 0; is_other < 2; ++is_other) {
      for (std::uint32_t code = 1; code < 16; ++code) {
        std::array<Row, 2> rows{};
        rows[is_other][k / 2] = static_cast<std::uint8_t>(code << k % 2 * 4);
        const int register_index = k % 16 / 8 * 2 + is_other;
        const std::uint32_t half =
            (code >> 3) << kAt.sign[register_index] | (code & 7) << kAt.magnitude[register_index];
        PairWords expected{};
        expected[k % 8 / 2 * kStepsPerTile + k / 16] = half << k % 2 * 16;
        ASSERT_EQ((words_of<kOperand>(rows[0], rows[1])), expected)
            << "k " << k << ", row " << 8 * is_other << ", code " << code;
      }
    }
  }
}

TEST(WeightWords, HaveEveryBitWhereTheLayoutSays) {
  expect_layout<hw::Operand::kFp16>();
  expect_layout<hw::Operand::kBf16>();
}

TEST(WeightWords, GiveBackTheirBytes) {
  Row row;
  Row other;
  std::iota(row.begin(), row.end(), std::uint8_t{0x6d});
  std::iota(other.begin(), other.end(), std::uint8_t{0xd6});
  const PairWords words = words_of<hw::Operand::kBf16>(row, other);
  for (int step = 0; step < kStepsPerTile; ++step) {
    for (int thread = 0; thread < 4; ++thread) {
      for (int i = 0; i < 4; ++i) {
        const Row& source = i % 2 == 0 ? row : other;
        EXPECT_EQ(
            byte_of_word(code_bits(hw::Operand::kBf16), words[thread * kStepsPerTile + step], i),
            source[step * 8 + i / 2 * 4 + thread]);
      }
    }
  }
}

}  // namespace
}  // namespace thresher::gpu
