// SPDX-License-Identifier: Apache-2.0
// The schedule: which tiles, or parts of them along k, a block computes. Found from the token
// counts in device memory, by every role for itself: a single thread, or all threads of warps.
//
// Tiles are numbered over all groups: groups in order, so that blocks that run at the same time
// share weights and images in the L2. Within a group whole tiles are numbered by tokens, then by
// weight rows: a group's tiles are of different widths, and if those took turns some blocks would
// always get the wide ones. Stretches of equal length go by weight rows first.
#pragma once

#include "gpu/gemm/kernels/gemm_config.hpp"
#include "gpu/gemm/kernels/group_book.cuh"
#include "gpu/gemm/kernels/group_walk.cuh"
#include "gpu/hw/hw.cuh"

namespace thresher::gpu {

// What one block does at a time: a tile, or a part of its k. Parts of a tile meet in slots of the
// workspace and count themselves (split_sums.cuh).
struct Tile {
  u32 first_token = 0;  // in the group
  u32 width = 0;
  u32 row_tile = 0;      // of the weights, in the group: weight_rows each
  u32 first_k_tile = 0;  // as stages hold them
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

// Tiles of k as stages hold them.
template <GemmConfig kConfig>
THRESHER_DEVICE u32 k_tiles_of(const GroupWalkOf<kConfig>& group) {
  return divide_up(group.k_tile_count, k_tiles_per_stage(kConfig));
}

// Blocks that compute a tile together walk as one.
template <GemmConfig kConfig>
THRESHER_DEVICE u32 walker_index() {
  return static_cast<u32>(hw::block_index() / blocks_per_tile(kConfig));
}
template <GemmConfig kConfig>
THRESHER_DEVICE u32 walker_count() {
  return static_cast<u32>(hw::block_count() / blocks_per_tile(kConfig));
}

template <GemmConfig kConfig>
THRESHER_DEVICE u32 row_tiles_in(const GroupWalkOf<kConfig>& group) {
  return divide_up(group.n, columns_per_tile(kConfig));
}

// Who walks.
enum class Walker : u8 { kThread, kWarp };

// The group that a place in the line lies in, of those before `end_group`.
template <GemmConfig kConfig, Walker kWalker>
class GroupFinder {
 public:
  THRESHER_DEVICE GroupFinder(const GemmArgs& args, const GroupBook& book)
      : group_(args.table), book_(book), end_group_(args.first_group + args.group_count) {}

  // Moves on to the group of `position`, which must not decrease; false: it lies behind the line.
  // `length(group)`: as the book was written with.
  template <typename Length>
  THRESHER_DEVICE bool find(u32 position, const Length& length) {
    if (position < end_) return true;
    const BookEntry entry = book_.find(position);
    group_.index = known(entry.group);
    group_.first_token = known(entry.first_token);
    group_.first_image_byte = u64{known(entry.first_image_row)} * kImageRowBytes;
    begin_ = known(entry.begin);
    for (;; group_.next()) {
      if (group_.index >= end_group_) return false;
      group_.read();
      end_ = begin_ + length(group_);
      if (position < end_) return true;
      begin_ = end_;
    }
  }

  THRESHER_DEVICE const GroupWalkOf<kConfig>& group() const { return group_; }
  THRESHER_DEVICE u32 begin() const { return begin_; }  // of the group, in the line

 private:
  // What comes from shared memory all lanes have, which the compiler cannot know.
  static THRESHER_DEVICE u32 known(u32 value) {
    if constexpr (kWalker == Walker::kWarp) return hw::uniform(value);
    return value;
  }

  GroupWalkOf<kConfig> group_;
  GroupBook book_;
  u32 end_group_;
  u32 begin_ = 0;
  u32 end_ = 0;
};

// Schedule::kTiles. Every tile is cut into split_k parts; parts are numbered over all groups, and
// block b of a launch takes b, b + blocks, b + 2 * blocks, ... of its groups' parts.
template <GemmConfig kConfig>
struct TilesLength {
  THRESHER_DEVICE u32 operator()(const GroupWalkOf<kConfig>& group) const {
    return row_tiles_in<kConfig>(group) * group.tiles.count * kConfig.split_k;
  }
};

template <GemmConfig kConfig, Walker kWalker>
class TileWalk {
 public:
  THRESHER_DEVICE TileWalk(const GemmArgs& args, const GroupBook& book) : finder_(args, book) {
    index_ = book.begin_of_launch() + walker_index<kConfig>();
  }

  // Finds the block's next tile; false: there is none.
  THRESHER_DEVICE bool next() {
    if (!finder_.find(index_, TilesLength<kConfig>{})) return false;
    const TokenTiles& tiles = group().tiles;
    const u32 in_group = index_ - finder_.begin();
    const u32 place = in_group / kConfig.split_k;
    const u32 row_tiles = row_tiles_in<kConfig>(group());
    tile_.set_place(tiles, place / row_tiles, place % row_tiles);
    set_part(in_group % kConfig.split_k);
    index_ += walker_count<kConfig>();
    return true;
  }

  THRESHER_DEVICE const Tile& tile() const { return tile_; }
  THRESHER_DEVICE const GroupWalkOf<kConfig>& group() const { return finder_.group(); }

  // A walk made anew goes on where another one was.
  THRESHER_DEVICE u32 position() const { return index_; }
  THRESHER_DEVICE void go_on_from(u32 position) { index_ = position; }

 private:
  // Parts are equally long but for the last; with few k tiles some are empty.
  THRESHER_DEVICE void set_part(u32 part) {
    const u32 total = k_tiles_of<kConfig>(group());
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

  GroupFinder<kConfig, kWalker> finder_;
  u32 index_ = 0;  // of the part to look at next
  Tile tile_;
};

// Schedule::kBalanced. The k tiles of all tiles of the launch form one line, each as long as it
// costs, and the line is cut into stretches of equal length, one per block. A block takes the k
// tiles that begin in its stretch. A tile that a stretch ends in is finished by the blocks after
// it; so a block has at most two tiles that it shares with others.
template <GemmConfig kConfig>
struct BalancedLength {
  THRESHER_DEVICE static u32 of_tile(u32 k_tile_count, u32 width) {
    return k_tile_count * k_tile_cost(kConfig.weight_rows, width) + kFinishCost;
  }

  // Of the tiles of one row tile.
  THRESHER_DEVICE static u32 of_row(const GroupWalkOf<kConfig>& group) {
    const TokenTiles& tiles = group.tiles;
    if (tiles.count == 0) return 0;
    const u32 k_tiles = k_tiles_of<kConfig>(group);
    const u32 full = tiles.full_count() * of_tile(k_tiles, kConfig.tokens);
    const u32 before_last = tiles.count > 1 ? of_tile(k_tiles, tiles.before_last) : 0;
    return full + before_last + of_tile(k_tiles, tiles.last);
  }

  THRESHER_DEVICE u32 operator()(const GroupWalkOf<kConfig>& group) const {
    return row_tiles_in<kConfig>(group) * of_row(group);
  }
};

template <GemmConfig kConfig, Walker kWalker>
class BalancedWalk {
 public:
  THRESHER_DEVICE BalancedWalk(const GemmArgs& args, const GroupBook& book)
      : finder_(args, book), block_(walker_index<kConfig>()) {
    // No stretch within a tile is so short that no k tile begins in it.
    constexpr u32 kShortest = k_tile_cost(kConfig.weight_rows, kConfig.tokens);
    const u32 begin = book.begin_of_launch();
    const u32 total = book.length();
    const u32 equal = divide_up(total - begin, walker_count<kConfig>());
    stretch_ = equal < kShortest ? kShortest : equal;
    origin_ = begin;
    position_ = begin + block_ * stretch_;
    const u32 stretch_end = position_ + stretch_;
    end_ = stretch_end < total ? stretch_end : total;
  }

  THRESHER_DEVICE bool next() {
    while (position_ < end_ && finder_.find(position_, BalancedLength<kConfig>{})) {
      if (take_from_tile()) return true;
    }
    return false;
  }

  THRESHER_DEVICE const Tile& tile() const { return tile_; }
  THRESHER_DEVICE const GroupWalkOf<kConfig>& group() const { return finder_.group(); }

  THRESHER_DEVICE u32 position() const { return position_; }
  THRESHER_DEVICE void go_on_from(u32 position) { position_ = position; }

 private:
  using Length = BalancedLength<kConfig>;

  // Takes what begins from position_ on, and before end_, of the tile that position_ lies in; moves
  // position_ behind it. False: nothing begins there any more.
  THRESHER_DEVICE bool take_from_tile() {
    const TokenTiles& tiles = group().tiles;
    const u32 k_tiles = k_tiles_of<kConfig>(group());
    const u32 in_group = position_ - finder_.begin();
    const u32 row_length = Length::of_row(group());
    const u32 row_tile = in_group / row_length;
    const u32 in_row = in_group - row_tile * row_length;
    u32 token_tile = 0;
    u32 in_tile = in_row;
    if (tiles.count > 1) {
      const u32 full_length = Length::of_tile(k_tiles, kConfig.tokens);
      const u32 last_begin = row_length - Length::of_tile(k_tiles, tiles.last);
      token_tile = in_row / full_length;
      if (token_tile > tiles.full_count()) token_tile = tiles.full_count();
      if (in_row >= last_begin) token_tile = tiles.count - 1;
      in_tile = in_row - (in_row >= last_begin ? last_begin : token_tile * full_length);
    }
    const u32 width = tiles.width_of(token_tile);
    const u32 cost = k_tile_cost(kConfig.weight_rows, width);

    const u32 tile_begin = position_ - in_tile;
    const u32 first = divide_up(in_tile, cost);
    const u32 before_end = divide_up(end_ - tile_begin, cost);
    const u32 behind = before_end < k_tiles ? before_end : k_tiles;
    position_ = tile_begin + (behind < k_tiles ? behind * cost : Length::of_tile(k_tiles, width));
    if (first >= behind) return false;

    tile_.set_place(tiles, token_tile, row_tile);
    tile_.first_k_tile = first;
    tile_.k_tile_count = behind - first;
    const u32 from_origin = tile_begin - origin_;
    set_part(from_origin / stretch_, (from_origin + (k_tiles - 1) * cost) / stretch_);
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

  GroupFinder<kConfig, kWalker> finder_;
  u32 block_;
  u32 stretch_ = 0;
  u32 origin_ = 0;    // where the launch's work begins in the line
  u32 end_ = 0;       // of the block's stretch
  u32 position_ = 0;  // from which on to look next
  Tile tile_;
};

template <GemmConfig kConfig>
struct ScheduleOf {
  using Length = TilesLength<kConfig>;
  template <Walker kWalker>
  using Walk = TileWalk<kConfig, kWalker>;
};
template <GemmConfig kConfig>
requires(kConfig.schedule == Schedule::kBalanced) struct ScheduleOf<kConfig> {
  using Length = BalancedLength<kConfig>;
  template <Walker kWalker>
  using Walk = BalancedWalk<kConfig, kWalker>;
};
template <GemmConfig kConfig, Walker kWalker>
using WalkOf = typename ScheduleOf<kConfig>::template Walk<kWalker>;

// By a warp together, before any walk.
template <GemmConfig kConfig>
THRESHER_DEVICE void write_book(const GroupBook& book, const GemmArgs& args) {
  book.write<token_cut(kConfig)>(args.table, args.first_group, args.first_group + args.group_count,
                                 typename ScheduleOf<kConfig>::Length{});
}

}  // namespace thresher::gpu
