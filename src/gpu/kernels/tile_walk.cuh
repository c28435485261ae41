// SPDX-License-Identifier: Apache-2.0
// The schedule: which tiles, or parts of them along k, a block computes. Found from the token
// counts in device memory, by every role for itself.
//
// Tiles are numbered over all groups: groups in order, within a group by weight rows, then by
// tokens, so that blocks that run at the same time share weights and images in the L2.
#pragma once

#include "gpu/hw/hw.cuh"
#include "gpu/kernels/gemm_config.hpp"
#include "gpu/kernels/group_walk.cuh"

namespace thresher::gpu {

// What one block does at a time: a tile, or a part of its k. Parts of a tile meet in slots of the
// workspace and count themselves (split_sums.cuh).
struct Tile {
  u32 token_tile = 0;  // in the group
  u32 row_tile = 0;    // in the group, in units of weight_rows
  u32 first_k_tile = 0;
  u32 k_tile_count = 0;

  u32 part = 0;
  u32 part_count = 1;
  u32 counter = 0;
  u32 first_slot = 0;  // of part 0
  u32 slots = 0;       // part p > 0 has slot slots + p * slot_step
  u32 slot_step = 1;

  THRESHER_DEVICE u32 slot(u32 of_part) const {
    return of_part == 0 ? first_slot : slots + of_part * slot_step;
  }

  // The tile's place in its group.
  template <int kTokens>
  THRESHER_DEVICE void set_place(u32 place, const GroupWalk<kTokens>& group) {
    token_tile = place % group.token_tile_count;
    row_tile = place / group.token_tile_count;
  }
};

template <GemmConfig kConfig>
THRESHER_DEVICE u32 tiles_in(const GroupWalk<kConfig.tokens>& group) {
  constexpr u32 kColumns = columns_per_tile(kConfig);
  return (group.n + kColumns - 1) / kColumns * group.token_tile_count;
}

// Schedule::kTiles. Every tile is cut into split_k parts; parts are numbered over all groups, and
// block b of a launch takes b, b + blocks, b + 2 * blocks, ... of its groups' parts.
template <GemmConfig kConfig>
class TileWalk {
 public:
  THRESHER_DEVICE explicit TileWalk(const GemmArgs& args)
      : group_(args.table), end_group_(args.first_group + args.group_count) {
    group_.read();
    while (group_.index < args.first_group) advance();
    index_ = group_begin_ + static_cast<u32>(hw::block_index());
  }

  // Finds the block's next tile; false: there is none.
  THRESHER_DEVICE bool next() {
    while (index_ >= group_begin_ + parts_in_group()) {
      if (group_.index + 1 >= end_group_) return false;
      advance();
    }
    const u32 in_group = index_ - group_begin_;
    tile_.set_place(in_group / kConfig.split_k, group_);
    set_part(in_group % kConfig.split_k);
    index_ += static_cast<u32>(hw::block_count());
    return true;
  }

  THRESHER_DEVICE const Tile& tile() const { return tile_; }
  THRESHER_DEVICE const GroupWalk<kConfig.tokens>& group() const { return group_; }

 private:
  THRESHER_DEVICE u32 parts_in_group() const { return tiles_in<kConfig>(group_) * kConfig.split_k; }

  THRESHER_DEVICE void advance() {
    group_begin_ += parts_in_group();
    group_.next();
    group_.read();
  }

  // Parts are equally long but for the last; with few k tiles some are empty.
  THRESHER_DEVICE void set_part(u32 part) {
    const u32 total = group_.k_tile_count;
    const u32 each = (total + kConfig.split_k - 1) / kConfig.split_k;
    const u32 first = part * each;
    tile_.first_k_tile = first < total ? first : total;
    const u32 left = total - tile_.first_k_tile;
    tile_.k_tile_count = each < left ? each : left;
    tile_.part = part;
    tile_.part_count = kConfig.split_k;
    tile_.counter = index_ / kConfig.split_k;
    tile_.first_slot = index_ - part;
    tile_.slots = index_ - part;
  }

  GroupWalk<kConfig.tokens> group_;
  u32 end_group_;
  u32 group_begin_ = 0;  // index of the group's first part
  u32 index_ = 0;        // of the part to look at next
  Tile tile_;
};

// Schedule::kBalanced. The k tiles of all tiles of the launch form one line, and every block takes
// a stretch of it, all of the same length but for one. A tile that a stretch ends in is finished by
// the blocks after it; so a block has at most two tiles that it shares with others.
template <GemmConfig kConfig>
class BalancedWalk {
 public:
  THRESHER_DEVICE explicit BalancedWalk(const GemmArgs& args)
      : group_(args.table), block_(static_cast<u32>(hw::block_index())) {
    measure(args);
    position_ = begin_of(block_);
    end_ = begin_of(block_ + 1);
    group_.read();
    while (group_.index < args.first_group) {
      group_.next();
      group_.read();
    }
  }

  THRESHER_DEVICE bool next() {
    if (position_ == end_) return false;
    while (position_ >= group_begin_ + k_tiles_in(group_)) {
      group_begin_ += k_tiles_in(group_);
      group_.next();
      group_.read();
    }
    const u32 in_group = position_ - group_begin_;
    tile_.set_place(in_group / group_.k_tile_count, group_);
    set_part(in_group % group_.k_tile_count);
    position_ += tile_.k_tile_count;
    return true;
  }

  THRESHER_DEVICE const Tile& tile() const { return tile_; }
  THRESHER_DEVICE const GroupWalk<kConfig.tokens>& group() const { return group_; }

 private:
  THRESHER_DEVICE static u32 k_tiles_in(const GroupWalk<kConfig.tokens>& group) {
    return tiles_in<kConfig>(group) * group.k_tile_count;
  }

  // How long the line is: the length of all stretches, and how many are one longer.
  THRESHER_DEVICE void measure(const GemmArgs& args) {
    u32 total = 0;
    GroupWalk<kConfig.tokens> group(args.table);
    for (; group.index < args.first_group + args.group_count; group.next()) {
      group.read();
      if (group.index >= args.first_group) total += k_tiles_in(group);
    }
    const u32 blocks = static_cast<u32>(hw::block_count());
    stretch_ = total / blocks;
    longer_count_ = total % blocks;
  }

  THRESHER_DEVICE u32 begin_of(u32 block) const {
    return block * stretch_ + (block < longer_count_ ? block : longer_count_);
  }

  THRESHER_DEVICE u32 block_of(u32 position) const {
    const u32 longer = longer_count_ * (stretch_ + 1);
    if (position < longer) return position / (stretch_ + 1);
    return longer_count_ + (position - longer) / stretch_;
  }

  // Each block has two slots: the second is for the tile that its stretch ends in, the first for
  // the tile that its stretch begins inside of.
  THRESHER_DEVICE void set_part(u32 first_k_tile) {
    const u32 to_tile_end = group_.k_tile_count - first_k_tile;
    const u32 to_end = end_ - position_;
    tile_.first_k_tile = first_k_tile;
    tile_.k_tile_count = to_tile_end < to_end ? to_tile_end : to_end;
    const u32 first_block = block_of(position_ - first_k_tile);
    const u32 last_block = block_of(position_ + to_tile_end - 1);
    tile_.part = block_ - first_block;
    tile_.part_count = last_block - first_block + 1;
    tile_.counter = first_block;
    tile_.first_slot = 2 * first_block + 1;
    tile_.slots = 2 * first_block;
    tile_.slot_step = 2;
  }

  GroupWalk<kConfig.tokens> group_;
  u32 block_;
  u32 stretch_ = 0;
  u32 longer_count_ = 0;
  u32 group_begin_ = 0;  // position of the group's first k tile
  u32 position_ = 0;     // of the k tile to look at next
  u32 end_ = 0;
  Tile tile_;
};

template <GemmConfig kConfig>
struct WalkOfConfig {
  using Type = TileWalk<kConfig>;
};
template <GemmConfig kConfig>
requires(kConfig.schedule == Schedule::kBalanced) struct WalkOfConfig<kConfig> {
  using Type = BalancedWalk<kConfig>;
};
template <GemmConfig kConfig>
using WalkOf = typename WalkOfConfig<kConfig>::Type;

}  // namespace thresher::gpu
