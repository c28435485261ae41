// SPDX-License-Identifier: Apache-2.0
#include "cpu/panel.hpp"

#include <gtest/gtest.h>

#include "gemm/inputs.hpp"

namespace thresher::cpu {
namespace {

Nvfp4Matrix random_matrix(std::int64_t rows, std::int64_t k) {
  const Problem problem{.name = "panel", .groups = {{.m = 1, .n = rows, .k = k}}};
  return make_inputs(problem, InputFamily::kFull, 11).groups[0].b;
}

TEST(Panel, RoundTripsEveryByteWithTails) {
  for (const std::int64_t rows : {1, 15, 16, 17, 40}) {
    for (const std::int64_t k : {16, 48, 64, 80, 192}) {
      const Nvfp4Matrix b = random_matrix(rows, k);
      Nvfp4Matrix back;
      back.rows = rows;
      back.k_elements = k;
      back.codes.resize(b.codes.size());
      back.scales.resize(b.scales.size());
      for (std::int64_t panel = 0; panel < panel_count(rows); ++panel) {
        std::vector<std::uint8_t> packed(panel_bytes(k), 0xee);
        pack_panel(b.view(), panel, packed.data());
        unpack_panel(packed.data(), panel, back);
      }
      EXPECT_EQ(back.codes, b.codes) << rows << " x " << k;
      EXPECT_EQ(back.scales, b.scales) << rows << " x " << k;
    }
  }
}

TEST(Panel, PutsEachElementWhereTheLayoutSays) {
  const std::int64_t k_elements = 128;
  const Nvfp4Matrix b = random_matrix(16, k_elements);
  std::vector<std::uint8_t> packed(panel_bytes(k_elements));
  pack_panel(b.view(), 0, packed.data());
  for (int column = 0; column < 16; ++column) {
    for (int k = 0; k < k_elements; ++k) {
      const unsigned code =
          b.codes[static_cast<std::size_t>(column * k_elements + k) / 2] >> (k % 2 * 4) & 15u;
      const int within = k % 16;
      const std::size_t byte = static_cast<std::size_t>(
          k / 64 * 576 + k % 64 / 16 * 128 + 64 * (within / 8) + 4 * column + within % 4);
      EXPECT_EQ(packed[byte] >> (within % 8 >= 4 ? 4 : 0) & 15u, code) << column << ", " << k;
    }
    for (int block = 0; block < 8; ++block) {
      const std::size_t byte =
          static_cast<std::size_t>(block / 4 * 576 + 512 + block % 4 * 16 + column);
      EXPECT_EQ(packed[byte], b.scales[static_cast<std::size_t>(column * 8 + block)]);
    }
  }
}

TEST(Panel, PadsWithZeroCodesAndZeroScales) {
  const Nvfp4Matrix b = random_matrix(3, 16);
  std::vector<std::uint8_t> packed(panel_bytes(16), 0xee);
  pack_panel(b.view(), 0, packed.data());
  for (int column = 3; column < 16; ++column)
    EXPECT_EQ(packed[512 + static_cast<std::size_t>(column)], 0);
  for (std::size_t byte = 128; byte < 512; ++byte) EXPECT_EQ(packed[byte], 0);
  for (std::size_t byte = 528; byte < 576; ++byte) EXPECT_EQ(packed[byte], 0);
}

}  // namespace
}  // namespace thresher::cpu
