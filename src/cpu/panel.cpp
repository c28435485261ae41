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

// A row's part of a superblock.
constexpr int kRowCodeBytes = kSuperblockElements / 2;
using RowCodes = std::uint32_t __attribute__((vector_size(kRowCodeBytes)));
constexpr int kRowWords = kRowCodeBytes / 4;
constexpr int kLineBytes = 64;

// The eight codes of every word as place() says. By reference, as in columns.hpp.
void place_codes(RowCodes& codes) {
  static_assert(std::endian::native == std::endian::little);
  const RowCodes last_four = codes >> 16;
  const RowCodes even = (codes & 0x0f0f) | (last_four & 0x0f0f) << 4;
  const RowCodes odd = (codes >> 4 & 0x0f0f) | (last_four & 0xf0f0);
  constexpr std::uint32_t kApart = 0x00ff00ff;
  codes = ((even | even << 8) & kApart) | ((odd | odd << 8) & kApart) << 8;
}

// Sixteen rows of a matrix from some superblock on.
struct PanelRows {
  const std::uint8_t* codes;
  const std::uint8_t* scales;
  std::int64_t k_elements;  // how far rows are apart

  PanelRows from(std::int64_t superblock) const {
    return {codes + superblock * kRowCodeBytes, scales + superblock * kBlocksPerSuperblock,
            k_elements};
  }
};

void pack_superblock(const PanelRows& rows, std::uint8_t* out) {
  for (int column = 0; column < kPanelColumns; ++column) {
    RowCodes codes;
    std::memcpy(&codes, rows.codes + column * rows.k_elements / 2, sizeof codes);
    place_codes(codes);
    for (int word = 0; word < kRowWords; ++word) {
      const std::uint32_t four = codes[word];
      std::memcpy(out + kLineBytes * word + 4 * column, &four, sizeof four);
    }
    const std::uint8_t* scales = rows.scales + column * rows.k_elements / kBlockElements;
    for (int block = 0; block < kBlocksPerSuperblock; ++block) {
      out[kSuperblockCodeBytes + block * kPanelColumns + column] = scales[block];
    }
  }
}

// What a superblock at the matrix's end lacks is zero.
void pack_ragged_superblock(const PanelRows& rows, int row_count, int block_count,
                            std::uint8_t* out) {
  std::uint8_t codes[kPanelColumns * kRowCodeBytes] = {};
  std::uint8_t scales[kPanelColumns * kBlocksPerSuperblock] = {};
  for (int row = 0; row < row_count; ++row) {
    std::memcpy(codes + row * kRowCodeBytes, rows.codes + row * rows.k_elements / 2,
                static_cast<std::size_t>(block_count) * kBlockElements / 2);
    std::memcpy(scales + row * kBlocksPerSuperblock,
                rows.scales + row * rows.k_elements / kBlockElements,
                static_cast<std::size_t>(block_count));
  }
  pack_superblock({codes, scales, kSuperblockElements}, out);
}

// Rows are far apart, so a processor does not see by itself that all of them will be read; but the
// next panel's are one piece of memory, of which this is the part that a superblock takes.
void prefetch_next(const PanelRows& panel, std::int64_t superblock) {
  const std::int64_t panel_elements = kPanelColumns * panel.k_elements;
  const std::uint8_t* codes = panel.codes + panel_elements / 2 + superblock * kSuperblockCodeBytes;
  for (int line = 0; line < kSuperblockCodeBytes; line += kLineBytes) {
    __builtin_prefetch(codes + line);
  }
  __builtin_prefetch(panel.scales + panel_elements / kBlockElements + superblock * kLineBytes);
}

int rows_in_panel(std::int64_t rows, std::int64_t panel_index) {
  return static_cast<int>(
      std::min<std::int64_t>(kPanelColumns, rows - panel_index * kPanelColumns));
}

}  // namespace

void pack_panel(const Nvfp4View& b, std::int64_t panel_index, std::uint8_t* out) {
  const int row_count = rows_in_panel(b.rows, panel_index);
  const std::int64_t first = panel_index * kPanelColumns * b.k_elements;
  const PanelRows rows{b.codes + first / 2, b.scales + first / kBlockElements, b.k_elements};
  const bool has_next = panel_index + 1 < panel_count(b.rows);
  for (std::int64_t at = 0; at < superblock_count(b.k_elements); ++at) {
    if (has_next) prefetch_next(rows, at);
    const int block_count = static_cast<int>(std::min<std::int64_t>(
        kBlocksPerSuperblock, b.k_elements / kBlockElements - at * kBlocksPerSuperblock));
    std::uint8_t* superblock = out + at * kSuperblockBytes;
    if (row_count == kPanelColumns && block_count == kBlocksPerSuperblock) {
      pack_superblock(rows.from(at), superblock);
    } else {
      pack_ragged_superblock(rows.from(at), row_count, block_count, superblock);
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
