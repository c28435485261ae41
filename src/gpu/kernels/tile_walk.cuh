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
  u32 first_token = 0;  // in the group
  u32 width = 0;
  u32 row_tile = 0;  // in the group, in units of weight_rows
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

  THRESHER_DEVICE void set_place(const TokenTiles& tiles, u32 token_tile, u32 the_row_tile) {
    first_token = tiles.first_token(token_tile);
    width = tiles.width_of(token_tile);
    row_tile = the_row_tile;
  }
};

template <GemmConfig kConfig>
using GroupWalkOf = GroupWalk<token_cut(kConfig)>;

template <GemmConfig kConfig>
THRESHER_DEVICE u32 row_tiles_in(const GroupWalkOf<kConfig>& group) {
  return divide_up(group.n, columns_per_tile(kConfig));
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
    const u32 place = in_group / kConfig.split_k;
    tile_.set_place(group_.tiles, place % group_.tiles.count, place / group_.tiles.count);
    set_part(in_group % kConfig.split_k);
    index_ += static_cast<u32>(hw::block_count());
    return true;
  }

  THRESHER_DEVICE const Tile& tile() const { return tile_; }
  THRESHER_DEVICE const GroupWalkOf<kConfig>& group() const { return group_; }

 private:
  THRESHER_DEVICE u32 parts_in_group() const {
    return row_tiles_in<kConfig>(group_) * group_.tiles.count * kConfig.split_k;
  }

  THRESHER_DEVICE void advance() {
    group_begin_ += parts_in_group();
    group_.next();
    group_.read();
  }

  // Parts are equally long but for the last; with few k tiles some are empty.
  THRESHER_DEVICE void set_part(u32 part) {
    const u32 total = group_.k_tile_count;
    const u32 each = divide_up(total, kConfig.split_k);
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

  GroupWalkOf<kConfig> group_;
  u32 end_group_;
  u32 group_begin_ = 0;  // index of the group's first part
  u32 index_ = 0;        // of the part to look at next
  Tile tile_;
};

// Schedule::kBalanced. The k tiles of all tiles of the launch form one line, each as long as it
// costs, and the line is cut into stretches of equal length, one per block. A block takes the k
// tiles that begin in its stretch. A tile that a stretch ends in is finished by the blocks after
// it; so a block has at most two tiles that it shares with others.
template <GemmConfig kConfig>
class BalancedWalk {
 public:
  THRESHER_DEVICE explicit BalancedWalk(const GemmArgs& args)
      : group_(args.table), block_(static_cast<u32>(hw::block_index())) {
    measure(args);
    position_ = block_ * stretch_;
    group_.read();
    while (group_.index < args.first_group) {
      group_.next();
      group_.read();
    }
  }

  THRESHER_DEVICE bool next() {
    const u32 stretch_end = (block_ + 1) * stretch_;
    const u32 end = stretch_end < total_ ? stretch_end : total_;
    while (position_ < end) {
      while (position_ >= group_begin_ + length_of(group_)) {
        group_begin_ += length_of(group_);
        group_.next();
        group_.read();
      }
      if (take_from_tile(end)) return true;
    }
    return false;
  }

  THRESHER_DEVICE const Tile& tile() const { return tile_; }
  THRESHER_DEVICE const GroupWalkOf<kConfig>& group() const { return group_; }

 private:
  // Of the tiles of one row tile.
  THRESHER_DEVICE static u32 row_length_of(const GroupWalkOf<kConfig>& group) {
    const TokenTiles& tiles = group.tiles;
    if (tiles.count == 0) return 0;
    return group.k_tile_count *
           ((tiles.count - 1) * k_tile_cost(tiles.width) + k_tile_cost(tiles.last_width));
  }

  THRESHER_DEVICE static u32 length_of(const GroupWalkOf<kConfig>& group) {
    return row_tiles_in<kConfig>(group) * row_length_of(group);
  }

  THRESHER_DEVICE void measure(const GemmArgs& args) {
    GroupWalkOf<kConfig> group(args.table);
    for (; group.index < args.first_group + args.group_count; group.next()) {
      group.read();
      if (group.index >= args.first_group) total_ += length_of(group);
    }
    // No stretch within a tile is so short that no k tile begins in it.
    constexpr u32 kShortest = k_tile_cost(kConfig.tokens);
    const u32 equal = divide_up(total_, static_cast<u32>(hw::block_count()));
    stretch_ = equal < kShortest ? kShortest : equal;
  }

  // Takes what begins from position_ on, and before `end`, of the tile that position_ lies in;
  // moves position_ behind it. False: nothing begins there any more.
  THRESHER_DEVICE bool take_from_tile(u32 end) {
    const u32 in_group = position_ - group_begin_;
    const u32 row_tile = in_group / row_length_of(group_);
    const u32 in_row = in_group % row_length_of(group_);
    const u32 k_tiles = group_.k_tile_count;
    const u32 full_length = k_tiles * k_tile_cost(group_.tiles.width);
    const u32 last_tile = group_.tiles.count - 1;
    const u32 token_tile = in_row / full_length < last_tile ? in_row / full_length : last_tile;
    const u32 cost = k_tile_cost(group_.tiles.width_of(token_tile));

    const u32 in_tile = in_row - token_tile * full_length;
    const u32 tile_begin = position_ - in_tile;
    const u32 first = divide_up(in_tile, cost);
    const u32 before_end = divide_up(end - tile_begin, cost);
    const u32 behind = before_end < k_tiles ? before_end : k_tiles;
    position_ = tile_begin + behind * cost;
    if (first >= behind) return false;

    tile_.set_place(group_.tiles, token_tile, row_tile);
    tile_.first_k_tile = first;
    tile_.k_tile_count = behind - first;
    set_part(tile_begin / stretch_, (tile_begin + (k_tiles - 1) * cost) / stretch_);
    return true;
  }

  // Each block has two slots: the second is for the tile that its stretch ends in, the first for
  // the tile that its stretch begins inside of.
  THRESHER_DEVICE void set_part(u32 first_block, u32 last_block) {
    tile_.part = block_ - first_block;
    tile_.part_count = last_block - first_block + 1;
    tile_.counter = first_block;
    tile_.first_slot = 2 * first_block + 1;
    tile_.slots = 2 * first_block;
    tile_.slot_step = 2;
  }

  GroupWalkOf<kConfig> group_;
  u32 block_;
  u32 total_ = 0;
  u32 stretch_ = 0;
  u32 group_begin_ = 0;  // where the group's first k tile begins
  u32 position_ = 0;     // from which on to look next
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
