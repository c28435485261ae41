// SPDX-License-Identifier: Apache-2.0
// Block-scaled MMAs: every width against a plain sum, and both ways to add.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "emulator/tensor_core.hpp"
#include "emulator/tensor_rig.hpp"

namespace thresher::emulator {
namespace {

std::vector<float> sums_of(const TensorTile& tile, std::uint64_t seed, TensorSums model) {
  std::vector<float> sums(128 * tile.columns);
  const TensorChanges none;
  launch(TensorRig::options(seed, model), TensorRig(tile, none, &sums));
  return sums;
}

// With scales of few bits every partial sum is exact: all ways to add agree.
TEST(Tensor, EveryWidthExactly) {
  for (const u32 columns : {8u, 24u, 40u, 64u, 72u, 96u, 128u, 136u, 256u}) {
    const TensorTile tile(columns, 0x38, 0x39);
    for (const TensorSums model : {TensorSums::kInOrder, TensorSums::kAligned}) {
      const std::vector<float> sums = sums_of(tile, columns, model);
      for (u32 i = 0; i < sums.size(); ++i) {
        ASSERT_EQ(sums[i], tile.sum(i / columns, i % columns)) << columns << " columns, " << i;
      }
    }
  }
}

TEST(Tensor, EverySeedGivesTheSame) {
  const TensorTile tile(40, 0x01, 0x7e);
  const std::vector<float> first = sums_of(tile, 0, TensorSums::kInOrder);
  for (std::uint64_t seed = 1; seed < 8; ++seed) {
    EXPECT_EQ(sums_of(tile, seed, TensorSums::kInOrder), first);
  }
}

// Scales over their whole range: both ways stay within FP32's error of 256 terms.
TEST(Tensor, WideScalesWithinTheBound) {
  const TensorTile tile(24, 0x01, 0x7e);
  for (const TensorSums model : {TensorSums::kInOrder, TensorSums::kAligned}) {
    const std::vector<float> sums = sums_of(tile, 3, model);
    for (u32 i = 0; i < sums.size(); ++i) {
      const double exact = tile.sum(i / 24, i % 24);
      double largest = 0;
      for (u32 k = 0; k < 256; ++k) {
        largest += std::fabs(TensorTile::value(tile.a_codes[i / 24 * 128 + k / 2], k) *
                             TensorTile::scale(tile.a_scales[i / 24 * 16 + k / 16]) *
                             TensorTile::value(tile.b_codes[i % 24 * 128 + k / 2], k) *
                             TensorTile::scale(tile.b_scales[i % 24 * 16 + k / 16]));
      }
      ASSERT_NEAR(sums[i], exact, largest * 256 * 0x1p-24);
    }
  }
}

TEST(Tensor, PublishedModelCutsOff) {
  ScaledBlocks blocks;
  blocks.dot[0] = 4;                             // one
  blocks.a_scale[0] = blocks.b_scale[0] = 0x38;  // one
  // 2^24 + 1: to nearest even and towards zero alike; 3 * 2^24 + 1 is not.
  EXPECT_EQ(add_blocks(TensorSums::kInOrder, 0x1p24f, blocks), 0x1p24f);
  blocks.dot[0] = 12;  // three
  EXPECT_EQ(add_blocks(TensorSums::kInOrder, 0x1p24f, blocks), 0x1p24f + 4);
  EXPECT_EQ(add_blocks(TensorSums::kAligned, 0x1p24f, blocks), 0x1p24f + 2);
  // What lies more than 35 bits below the largest is lost before anything is added.
  blocks.dot[0] = 1;
  blocks.a_scale[0] = blocks.b_scale[0] = 0x01;  // a quarter of 2^-18
  blocks.dot[1] = -4;
  blocks.a_scale[1] = blocks.b_scale[1] = 0x38;
  EXPECT_EQ(add_blocks(TensorSums::kAligned, 1.0f, blocks), 0x1p-20f);
  EXPECT_EQ(add_blocks(TensorSums::kAligned, 0x1p16f, blocks), 0x1p16f - 1);
  blocks.dot[1] = 0;
  EXPECT_EQ(add_blocks(TensorSums::kAligned, -0x1p16f, blocks), -0x1p16f);
}

TEST(Tensor, ScalesHaveNoSignAndNanStays) {
  ScaledBlocks blocks;
  blocks.dot[2] = 8;
  blocks.a_scale[2] = 0xb8;  // minus one, were there a sign
  blocks.b_scale[2] = 0x38;
  for (const TensorSums model : {TensorSums::kInOrder, TensorSums::kAligned}) {
    EXPECT_EQ(add_blocks(model, 1.0f, blocks), 3.0f);
    blocks.b_scale[0] = 0x7f;  // of a block of zeros
    EXPECT_TRUE(std::isnan(add_blocks(model, 1.0f, blocks)));
    blocks.b_scale[0] = 0;
  }
}

}  // namespace
}  // namespace thresher::emulator
