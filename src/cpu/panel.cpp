// SPDX-License-Identifier: Apache-2.0
#include "cpu/panel.hpp"

#include <algorithm>
#include <cstring>

namespace thresher::cpu {
namespace {

// Where element k of a block (0..15) sits: the byte inside the column's pair of dwords, and the
// nibble.
struct Place {
  int byte;
  int shift;
};

constexpr Place place(int k) { return {64 * (k / 8) + k % 4, k % 8 >= 4 ? 4 : 0}; }

int rows_in_panel(std::int64_t rows, std::int64_t panel_index) {
  return static_cast<int>(
      std::min<std::int64_t>(kPanelColumns, rows - panel_index * kPanelColumns));
}

}  // namespace

void pack_panel(const Nvfp4View& b, std::int64_t panel_index, std::uint8_t* out) {
  std::memset(out, 0, panel_bytes(b.k_elements));
  const std::int64_t block_count = b.k_elements / kBlockElements;
  for (int column = 0; column < rows_in_panel(b.rows, panel_index); ++column) {
    const std::int64_t row = panel_index * kPanelColumns + column;
    const std::uint8_t* codes = b.codes + row * block_count * 8;
    const std::uint8_t* scales = b.scales + row * block_count;
    for (std::int64_t block = 0; block < block_count; ++block) {
      std::uint8_t* superblock = out + block / kBlocksPerSuperblock * kSuperblockBytes;
      const int index = static_cast<int>(block % kBlocksPerSuperblock);
      std::uint8_t* bytes = superblock + index * kBlockCodeBytes + 4 * column;
      for (int k = 0; k < kBlockElements; ++k) {
        const unsigned code = codes[block * 8 + k / 2] >> (k % 2 * 4) & 0xfu;
        std::uint8_t& byte = bytes[place(k).byte];
        byte = static_cast<std::uint8_t>(byte | code << place(k).shift);
      }
      superblock[kSuperblockCodeBytes + index * kPanelColumns + column] = scales[block];
    }
  }
}

void unpack_panel(const std::uint8_t* panel, std::int64_t panel_index, Nvfp4Matrix& b) {
  const std::int64_t block_count = b.k_elements / kBlockElements;
  for (int column = 0; column < rows_in_panel(b.rows, panel_index); ++column) {
    const std::int64_t row = panel_index * kPanelColumns + column;
    std::uint8_t* codes = b.codes.data() + row * block_count * 8;
    std::uint8_t* scales = b.scales.data() + row * block_count;
    for (std::int64_t block = 0; block < block_count; ++block) {
      const std::uint8_t* superblock = panel + block / kBlocksPerSuperblock * kSuperblockBytes;
      const int index = static_cast<int>(block % kBlocksPerSuperblock);
      const std::uint8_t* bytes = superblock + index * kBlockCodeBytes + 4 * column;
      for (int k = 0; k < kBlockElements; k += 2) {
        const unsigned low = bytes[place(k).byte] >> place(k).shift & 0xfu;
        const unsigned high = bytes[place(k + 1).byte] >> place(k + 1).shift & 0xfu;
        codes[block * 8 + k / 2] = static_cast<std::uint8_t>(low | high << 4);
      }
      scales[block] = superblock[kSuperblockCodeBytes + index * kPanelColumns + column];
    }
  }
}

}  // namespace thresher::cpu
