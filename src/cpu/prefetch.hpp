// SPDX-License-Identifier: Apache-2.0
// Brings packed weights towards the core before a tile needs them, in two steps: into the second
// cache from far ahead, and from there into the first shortly before use. A tile of one row reads
// memory faster than one step can follow: the first cache holds too few outstanding lines to reach
// far, and a near step alone comes too late.
#pragma once

#include <cstdint>

#include "cpu/panel.hpp"

namespace thresher::cpu {
namespace {

inline constexpr int kLineBytes = 64;
// The near step is at an eighth of the far step's distance.
inline constexpr int kNearShare = 8;

// The lines of one block, so that requests spread over the superblock's arithmetic; the scales'
// line goes with the last block.
inline void prefetch_block(const std::uint8_t* superblock, int block, std::int64_t ahead_bytes) {
  const int first = block * kBlockCodeBytes;
  const int last = block + 1 < kBlocksPerSuperblock ? first + kBlockCodeBytes : kSuperblockBytes;
  for (int line = first; line < last; line += kLineBytes) {
    __builtin_prefetch(superblock + ahead_bytes / kNearShare + line, 0, 3);
    __builtin_prefetch(superblock + ahead_bytes + line, 0, 2);
  }
}

}  // namespace
}  // namespace thresher::cpu
