// SPDX-License-Identifier: Apache-2.0
#include "cpu/body.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace thresher::cpu {
namespace {

constexpr std::int64_t kSuperblocks = 3;
constexpr std::int64_t kPanelBytes = kSuperblocks * kSuperblockBytes;

// Panels of any codes, signed scales and subnormal ones among them, none of them NaN.
std::vector<std::uint8_t> random_panels(std::mt19937& random) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(kTilePanelsMax * kPanelBytes));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(random());
    const bool is_scale = i % kSuperblockBytes >= kSuperblockCodeBytes;
    if (is_scale && (bytes[i] & 0x7f) == 0x7f) bytes[i] = 1;
  }
  return bytes;
}

// Rows of 16-bit values: any but NaN and infinity, the largest and the subnormal ones too.
std::vector<std::uint16_t> random_values(std::mt19937& random, int rows, std::uint16_t exponent) {
  std::vector<std::uint16_t> values(static_cast<std::size_t>(rows) * kSuperblocks *
                                    kSuperblockElements);
  for (std::uint16_t& value : values) {
    value = static_cast<std::uint16_t>(random());
    if ((value & exponent) == exponent) value = static_cast<std::uint16_t>(value & ~exponent);
  }
  return values;
}

struct Tile {
  const Kernels& kernels;
  const std::vector<std::uint8_t>& panels;
  const std::vector<std::uint16_t>& values;
  int rows;

  // The sums of `count` panels from `first` on, panel by panel and row by row, from tiles of
  // `step` panels.
  std::vector<float> sums(int count, int step) const {
    std::vector<std::uint8_t> packed(kernels.activation_bytes(rows, kSuperblocks));
    EXPECT_EQ(kernels.pack({.values = values.data(),
                            .row_count = rows,
                            .k_elements = kSuperblocks * kSuperblockElements},
                           packed.data()),
              kNoNan);
    std::vector<float> ordered;
    for (int first = 0; first < count; first += step) {
      float sums[kTilePanelsMax / kSumPanels * kTileRowsMax * kSumColumns] = {};
      TileArgs args{.activations = packed.data(),
                    .row_count = rows,
                    .superblock_count = kSuperblocks,
                    .sums = sums};
      for (int i = 0; i < step; ++i) args.panels[i] = panels.data() + (first + i) * kPanelBytes;
      kernels.direct_tile(rows, step)(args);
      for (int i = 0; i < step; ++i) append(sums, i, ordered);
    }
    return ordered;
  }

  void append(const float* sums, int panel, std::vector<float>& to) const {
    for (int row = 0; row < rows; ++row) {
      const float* columns = sums + (panel / kSumPanels * rows + row) * kSumColumns +
                             panel % kSumPanels * kPanelColumns;
      to.insert(to.end(), columns, columns + kPanelColumns);
    }
  }
};

// Bit for bit, as values that are no number would compare unequal to themselves.
std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits(values.size());
  std::memcpy(bits.data(), values.data(), values.size() * sizeof(float));
  return bits;
}

// A row alone in a tile, which looks its products up, beside itself among others and in tiles of
// every width.
TEST(Body, TilesOfEveryWidthGiveTheSameBits) {
  std::mt19937 random(5);
  const std::vector<std::uint8_t> panels = random_panels(random);
  for (const Isa isa : runnable_isas()) {
    for (const bool is_bf16 : {false, true}) {
      const Kernels& kernels = is_bf16 ? body(isa).bf16 : body(isa).fp16;
      if (kernels.direct_tile == nullptr) continue;
      const auto values = random_values(random, 6, is_bf16 ? 0x7f80 : 0x7c00);
      for (int rows = 1; rows <= std::min(6, kernels.tile_rows_max); ++rows) {
        const Tile tile{kernels, panels, values, rows};
        const std::vector<std::uint32_t> expected = bits_of(tile.sums(kTilePanelsMax, 1));
        for (int step = 2; step <= kernels.few_rows_panels_max; step *= 2) {
          if (kernels.direct_tile(rows, step) == nullptr) continue;
          EXPECT_EQ(bits_of(tile.sums(kTilePanelsMax, step)), expected)
              << to_string(isa) << ", " << rows << " rows, " << step << " panels";
        }
        if (rows == 1) continue;
        const std::vector<float> alone = Tile{kernels, panels, values, 1}.sums(1, 1);
        const std::vector<float> among = tile.sums(1, 1);
        EXPECT_EQ(bits_of(alone), bits_of({among.begin(), among.begin() + kPanelColumns}))
            << to_string(isa) << ", " << rows << " rows";
      }
    }
  }
}

}  // namespace
}  // namespace thresher::cpu
