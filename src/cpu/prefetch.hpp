// SPDX-License-Identifier: Apache-2.0
// Brings packed weights towards the core before a tile needs them, in two steps: into the second
// cache from far ahead, and from there into the first shortly before use. A tile of one row reads
// memory faster than one step can follow: the first cache holds too few outstanding lines to reach
// far, and a near step alone comes too late.
#pragma once

#include <cstdint>

#include "cpu/body.hpp"
#include "cpu/panel.hpp"

namespace thresher::cpu {
namespace {

inline constexpr int kLineBytes = 64;
// The near step is at an eighth of the far step's distance.
inline constexpr int kNearShare = 8;

// What a tile prefetches while it multiplies a superblock.
class Prefetch {
 public:
  Prefetch(const TileArgs& args, std::int64_t superblock)
      : near_bytes_(args.prefetch_bytes / kNearShare), far_bytes_(args.prefetch_bytes) {
    const std::int64_t left = (args.superblock_count - superblock) * kSuperblockBytes;
    if (far_bytes_ >= left) far_bytes_ += args.prefetch_jump_bytes;
  }

  bool wanted() const { return far_bytes_ > 0; }

  // The lines of one block, so that requests spread over the superblock's arithmetic; the scales'
  // line goes with the last block.
  void block(const std::uint8_t* superblock, int block) const {
    const int first = block * kBlockCodeBytes;
    const int last = block + 1 < kBlocksPerSuperblock ? first + kBlockCodeBytes : kSuperblockBytes;
    for (int line = first; line < last; line += kLineBytes) {
      __builtin_prefetch(superblock + near_bytes_ + line, 0, 3);
      __builtin_prefetch(superblock + far_bytes_ + line, 0, 2);
    }
  }

 private:
  std::int64_t near_bytes_;
  std::int64_t far_bytes_;
};

}  // namespace
}  // namespace thresher::cpu
