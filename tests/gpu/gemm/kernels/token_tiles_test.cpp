// SPDX-License-Identifier: Apache-2.0
#include "gpu/gemm/kernels/token_tiles.hpp"

#include <gtest/gtest.h>

namespace thresher::gpu {
namespace {

TEST(TokenTiles, LastTwoShareWhatTheOthersLeave) {
  const TokenTiles tiles = cut_tokens({.tokens = 128}, 176);
  EXPECT_EQ(tiles.count, 2u);
  EXPECT_EQ(tiles.width_of(0), 96u);  // 88 rounded up to a quarter of 128
  EXPECT_EQ(tiles.width_of(1), 96u);
  EXPECT_EQ(tiles.first_token(1), 96u);
  EXPECT_EQ(tiles.column_count(), 192u);

  const TokenTiles three = cut_tokens({.tokens = 128}, 320);
  EXPECT_EQ(three.count, 3u);
  EXPECT_EQ(three.width_of(0), 128u);
  EXPECT_EQ(three.width_of(1), 96u);
  EXPECT_EQ(three.first_token(2), 224u);

  EXPECT_EQ(cut_tokens({.tokens = 128}, 160).last, 64u);
  EXPECT_EQ(cut_tokens({.tokens = 128}, 1).last, 64u);
  EXPECT_EQ(cut_tokens({.tokens = 16}, 1).last, 8u);
  EXPECT_EQ(cut_tokens({.tokens = 128}, 0).column_count(), 0u);
}

TEST(TokenTiles, FixedOnesAreAllTheWidest) {
  const TokenTiles tiles = cut_tokens({.tokens = 128, .widths = Widths::kFixed}, 130);
  EXPECT_EQ(tiles.column_count(), 256u);
  EXPECT_EQ(tiles.width_of(1), 128u);
}

// Whatever the count: all tokens are in, no tile is empty, every width has its
// main loop, and the padding stays below the bound that the workspace is made
// for.
TEST(TokenTiles, HoldAllTokens) {
  for (int index = 1; index <= 48; ++index) {
    // Multiples of 8, and of 16 where two blocks share a tile.
    const int granule = index <= 32 ? 8 : 16;
    const TokenCut cut{.tokens = (index <= 32 ? index : index - 32) * granule, .granule = granule};
    const int tokens = cut.tokens;
    for (u32 count = 1; count < 1200; ++count) {
      const TokenTiles tiles = cut_tokens(cut, count);
      ASSERT_GE(tiles.column_count(), count);
      ASSERT_LT(tiles.column_count(), count + static_cast<u32>(cut.narrowest()));
      ASSERT_LT(tiles.first_token(tiles.count - 1), count);
      for (u32 tile = 0; tile < tiles.count; ++tile) {
        const u32 width = tiles.width_of(tile);
        ASSERT_EQ(tiles.tile_of(tiles.first_token(tile)), tile);
        ASSERT_EQ(tiles.tile_of(tiles.first_token(tile) + width - 1), tile);
        ASSERT_GE(width, static_cast<u32>(cut.narrowest()));
        ASSERT_LE(width, static_cast<u32>(tokens));
        ASSERT_EQ(width % static_cast<u32>(granule), 0u);
        ASSERT_EQ((width - static_cast<u32>(cut.narrowest())) % static_cast<u32>(cut.step()), 0u);
      }
    }
  }
}

}  // namespace
}  // namespace thresher::gpu
