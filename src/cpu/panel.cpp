// SPDX-License-Identifier: Apache-2.0
#include "cpu/panel.hpp"

#include <algorithm>
#include <bit>
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

constexpr int kRowBlockBytes = static_cast<int>(kBlockElements) / 2;

// Four nibbles of each half move one byte apart.
constexpr std::uint64_t spread_nibbles(std::uint64_t halves) {
  const std::uint64_t pairs = (halves | halves << 8) & 0x00ff00ff00ff00ffu;
  return (pairs | pairs << 4) & 0x0f0f0f0f0f0f0f0fu;
}

// A row's block as place() says, all sixteen codes at once: the low half of the result is byte 0 to
// 3 of the column, the high half what stands 64 bytes behind.
constexpr std::uint64_t place_codes(std::uint64_t codes) {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::uint64_t kFirstFour = 0x0000ffff0000ffffu;
  return spread_nibbles(codes & kFirstFour) | spread_nibbles(codes >> 16 & kFirstFour) << 4;
}

int rows_in_panel(std::int64_t rows, std::int64_t panel_index) {
  return static_cast<int>(
      std::min<std::int64_t>(kPanelColumns, rows - panel_index * kPanelColumns));
}

}  // namespace

void pack_panel(const Nvfp4View& b, std::int64_t panel_index, std::uint8_t* out) {
  const std::int64_t block_count = b.k_elements / kBlockElements;
  const int row_count = rows_in_panel(b.rows, panel_index);
  if (row_count < kPanelColumns || block_count % kBlocksPerSuperblock != 0) {
    std::memset(out, 0, panel_bytes(b.k_elements));
  }
  const std::int64_t first_row = panel_index * kPanelColumns;
  const std::uint8_t* codes = b.codes + first_row * block_count * kRowBlockBytes;
  const std::uint8_t* scales = b.scales + first_row * block_count;
  for (std::int64_t block = 0; block < block_count; ++block) {
    std::uint8_t* superblock = out + block / kBlocksPerSuperblock * kSuperblockBytes;
    const int index = static_cast<int>(block % kBlocksPerSuperblock);
    std::uint8_t* code_bytes = superblock + index * kBlockCodeBytes;
    std::uint8_t* scale_bytes = superblock + kSuperblockCodeBytes + index * kPanelColumns;
    for (int column = 0; column < row_count; ++column) {
      const std::int64_t at = column * block_count + block;
      std::uint64_t word = 0;
      std::memcpy(&word, codes + at * kRowBlockBytes, sizeof word);
      const std::uint64_t placed = place_codes(word);
      std::memcpy(code_bytes + 4 * column, &placed, 4);
      const std::uint64_t second = placed >> 32;
      std::memcpy(code_bytes + 64 + 4 * column, &second, 4);
      scale_bytes[column] = scales[at];
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
