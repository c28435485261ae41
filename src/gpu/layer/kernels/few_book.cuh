// SPDX-License-Identifier: Apache-2.0
// Which rows of a call of few tokens share an expert: written by every block for itself, in its
// shared memory, from the ids alone.
//
// Row i is token * slot_count + slot. Rows of an expert are taken eight at a time, in their order;
// eight of them (or what is left) are an octet, and octets have numbers in the order of their first
// rows.
#pragma once

#include "gpu/hw/hw.cuh"
#include "gpu/layer/kernels/layer_args.hpp"

namespace thresher::gpu {

class FewBook {
 public:
  static constexpr u32 kNobody = 0xffff;

  THRESHER_DEVICE explicit FewBook(hw::SharedAddress base) : base_(base) {}

  // By the block together.
  THRESHER_DEVICE void write(const LayerArgs& args) const {
    const u32 rows = args.token_count * args.slot_count();
    const u32 thread = static_cast<u32>(hw::thread_index());
    for (u32 row = thread; row < kFewRowsMax; row += kLayerThreads) {
      hw::store_shared(base_ + 4 * row, row < rows ? group_of(args, row) : kLayerNoRow);
    }
    for (u32 i = thread; i < kFewRowsMax * kFewColumns / 2; i += kLayerThreads) {
      hw::store_shared(base_ + kMembers + 4 * i, ~0u);
    }
    hw::sync_block();
    Place places[kRowsPerThread];
    THRESHER_UNROLL
    for (u32 i = 0; i < kRowsPerThread; ++i) {
      const u32 row = thread + i * kLayerThreads;
      places[i] = find(row);
      const u32 firsts = hw::ballot(places[i].first == row);
      if (hw::lane_index() == 0) {
        hw::store_shared(base_ + kFirsts + row / hw::kWarpThreads * 4, firsts);
      }
    }
    hw::sync_block();
    THRESHER_UNROLL
    for (u32 i = 0; i < kRowsPerThread; ++i) {
      if (places[i].first == kLayerNoRow) continue;
      hw::store_shared(member_address(number_of(places[i].first), places[i].column),
                       static_cast<u16>(thread + i * kLayerThreads));
    }
    hw::sync_block();
  }

  THRESHER_DEVICE u32 octet_count() const { return number_of(kFewRowsMax); }
  // A row of an octet, or kNobody.
  THRESHER_DEVICE u32 member(u32 octet, u32 column) const {
    return hw::load_shared<u16>(member_address(octet, column));
  }
  // kLayerNoRow: nobody's.
  THRESHER_DEVICE u32 group(u32 row) const { return hw::load_shared<u32>(base_ + 4 * row); }

 private:
  static constexpr u32 kRowsPerThread = kFewRowsMax / kLayerThreads;
  static constexpr u32 kFirsts = 4 * kFewRowsMax;  // a bit per row: whether an octet begins there
  static constexpr u32 kMembers = kFirsts + kFewRowsMax / 8;
  static_assert(kMembers + 2 * kFewRowsMax * kFewColumns == kFewBookBytes);

  struct Place {
    u32 first;  // row of its octet; kLayerNoRow: the row is nobody's
    u32 column;
  };

  static THRESHER_DEVICE u32 group_of(const LayerArgs& args, u32 row) {
    const u32 slot = row % args.slot_count();
    if (slot >= args.top_k) return args.expert_count + slot - args.top_k;
    return args.group_of(hw::load_global(args.ids + row / args.slot_count() * args.top_k + slot));
  }

  THRESHER_DEVICE Place find(u32 row) const {
    const u32 own = group(row);
    if (own == kLayerNoRow) return {kLayerNoRow, 0};
    u32 before = 0;
    u32 first = row;
    for (u32 i = 0; i < row; i += 4) {
      const auto four = hw::load_shared<U32x4>(base_ + 4 * i);
      const u32 groups[4] = {four.x, four.y, four.z, four.w};
      THRESHER_UNROLL
      for (u32 j = 0; j < 4; ++j) {
        if (groups[j] != own || i + j >= row) continue;
        if (before % kFewColumns == 0) first = i + j;
        ++before;
      }
    }
    if (before % kFewColumns == 0) first = row;
    return {first, before % kFewColumns};
  }

  // Octets that begin before a row.
  THRESHER_DEVICE u32 number_of(u32 row) const {
    u32 count = 0;
    for (u32 i = 0; i < row / hw::kWarpThreads; ++i) count += firsts_of(i);
    const u32 left = row % hw::kWarpThreads;
    return left == 0 ? count : count + firsts_of(row / hw::kWarpThreads, (1u << left) - 1);
  }
  THRESHER_DEVICE u32 firsts_of(u32 word, u32 mask = ~0u) const {
    return static_cast<u32>(
        hw::count_bits(hw::load_shared<u32>(base_ + kFirsts + 4 * word) & mask));
  }

  THRESHER_DEVICE hw::SharedAddress member_address(u32 octet, u32 column) const {
    return base_ + kMembers + 2 * (octet * kFewColumns + column);
  }

  const hw::SharedAddress base_;
};

}  // namespace thresher::gpu
