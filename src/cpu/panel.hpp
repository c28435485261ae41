// SPDX-License-Identifier: Apache-2.0
// The panel layout of packed weights: what every body of the CPU kernels reads.
//
// A panel is 16 columns of C (16 rows of B). Along k it is a sequence of superblocks of 64
// elements, 576 contiguous bytes each: 4 blocks of 128 code bytes, then 4 x 16 scale bytes. One
// pointer walks a whole panel, and a superblock is exactly nine cache lines.
//
//   block byte [64*c + 4*column + j]: low nibble k = 8c + j, high nibble k = 8c + 4 + j   (c 0..1,
//   j 0..3) scale byte [512 + 16*block + column]
//
// So one 64-byte load, a mask and a shift give two vectors of 16 columns x 4 consecutive k, the
// shape that byte multiply-add instructions want; a 32-byte load gives the same for 8 columns. n is
// padded to 16 and k to 64 with zero codes and zero scales, which add exact zeros.
#pragma once

#include <cstddef>
#include <cstdint>

#include "thresher/nvfp4.hpp"

namespace thresher::cpu {

inline constexpr int kPanelColumns = 16;
inline constexpr int kSuperblockElements = 64;
inline constexpr int kBlocksPerSuperblock = 4;
inline constexpr int kBlockCodeBytes = 128;
inline constexpr int kSuperblockCodeBytes = kBlocksPerSuperblock * kBlockCodeBytes;
inline constexpr int kSuperblockBytes = kSuperblockCodeBytes + kBlocksPerSuperblock * kPanelColumns;

inline std::int64_t panel_count(std::int64_t n) { return (n + kPanelColumns - 1) / kPanelColumns; }
inline std::int64_t superblock_count(std::int64_t k_elements) {
  return (k_elements + kSuperblockElements - 1) / kSuperblockElements;
}
inline std::size_t panel_bytes(std::int64_t k_elements) {
  return static_cast<std::size_t>(superblock_count(k_elements)) * kSuperblockBytes;
}

// Panel `panel_index` of `b` in panel layout at `out`, panel_bytes(k) bytes.
void pack_panel(const Nvfp4View& b, std::int64_t panel_index, std::uint8_t* out);

// The inverse: writes the panel's rows into checkpoint-order codes and scales of an n x k matrix.
void unpack_panel(const std::uint8_t* panel, std::int64_t panel_index, Nvfp4Matrix& b);

}  // namespace thresher::cpu
