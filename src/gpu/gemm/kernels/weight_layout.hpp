// SPDX-License-Identifier: Apache-2.0
// How packed weights lie in memory; the host writes this (weight_tiles.cpp), the kernels read it.
//
// A tile is 128 rows x 64 k: 4096 bytes of codes, then 512 bytes of scales. Tiles of 128 rows
// follow each other along k, then by rows, so one bulk copy fetches a tile, or several along k. A
// tile is two sub-tiles of 64 rows, one wgmma high:
//
//   codes    sub-tile s, thread t of a warpgroup: 16 bytes at 2048*s + 16*t. Word b of them holds
//            the thread's A fragment of k = 16*b..16*b+15: 8 values, those of even k in the low
//            half and of odd k in the high half. A half holds the values of registers 0 to 3, as
//            bits
//              15: sign 0, 14: sign 2, 13: sign 3, 12: sign 1, and magnitudes
//              fp16   11..9: 0,  8..6: 1,  5..3: 2,  2..0: 3
//              bf16   11..9: 3,  8..6: 0,  5..3: 1,  2..0: 2
//            where as few masks, shifts and multiplications as possible bring them to where the
//            type that they are decoded to has them (weight_decode.cuh).
//   scales   sub-tile s, rows r and r+8 of warp w: 8 bytes at 4096 + 256*s + 64*w + 8*r. Of word
//            b/2 the high (even b) or low (odd b) byte of the low half is row r's, of the high half
//            row r+8's. A byte has 5 bits of exponent and 3 of mantissa, those of the scale's
//            magnitude times 2^7 in fp16; an E4M3 subnormal is a normal number there.
//
// A negative scale has flipped its codes' signs. Its own sign is of no use to a kernel; to undo the
// flip, the signs of all tiles follow the last tile, 64 bytes per tile: bit 4*r + b of those 512
// belongs to row r of the tile and step b.
//
// Dual weights interleave the two matrices by 8 rows: 8 of gate, the same 8 of up. A thread then
// holds both halves of a pair, as rows r and r+8. Rows beyond n and k beyond the matrix are zeros.
#pragma once

#include "gpu/hw/types.hpp"
#include "gpu/hw/words.hpp"

namespace thresher::gpu {

inline constexpr int kTileRows = 128;
inline constexpr int kTileK = 64;
inline constexpr int kSubTileRows = 64;
inline constexpr int kSubTilesPerTile = kTileRows / kSubTileRows;
inline constexpr int kStepK = 16;  // k of one MMA, and of one scale
inline constexpr int kStepsPerTile = kTileK / kStepK;

inline constexpr int kSubTileCodeBytes = kSubTileRows * kTileK / 2;
inline constexpr int kSubTileScaleBytes = kSubTileRows * kTileK / kStepK;
inline constexpr int kTileCodeBytes = kSubTilesPerTile * kSubTileCodeBytes;
inline constexpr int kTileScaleBytes = kSubTilesPerTile * kSubTileScaleBytes;
inline constexpr int kTileBytes = kTileCodeBytes + kTileScaleBytes;
inline constexpr int kTileSignBytes = kTileScaleBytes / 8;
static_assert(kTileBytes == 4096 + 512);

// Rows that gate and up take turns in.
inline constexpr int kDualRows = 8;

// Decoded weights are the true ones times 2^-7, which keeps every product of a code and a scale
// exact in fp16 and bf16. The sums must be multiplied by this.
inline constexpr float kWeightUnit = 128.0f;

// Where value i (of registers 0 to 3) of a half word has its sign bit and its magnitude's low bit.
struct CodeBits {
  int sign[4];
  int magnitude[4];
};
THRESHER_DEVICE constexpr CodeBits code_bits(hw::Operand operand) {
  if (operand == hw::Operand::kBf16) return {{15, 12, 14, 13}, {6, 3, 0, 9}};
  return {{15, 12, 14, 13}, {9, 6, 3, 0}};
}

}  // namespace thresher::gpu
