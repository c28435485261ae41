// SPDX-License-Identifier: Apache-2.0
// Finds where a piece of the prologue's work lies: what to read and where to write.
//
// A warp looks at 32 groups at a time, one per lane, and for several tasks at a time, again one per
// lane: tasks are so short that walking over the groups one by one (group_walk.cuh) would take
// longer than the work.
#pragma once

#include "gpu/gemm/kernels/gemm_args.hpp"
#include "gpu/gemm/kernels/gemm_config.hpp"
#include "gpu/gemm/kernels/image_config.hpp"
#include "gpu/gemm/kernels/lane_sums.cuh"
#include "gpu/gemm/kernels/token_tiles.hpp"
#include "gpu/gemm/kernels/weight_layout.hpp"
#include "gpu/hw/hw.cuh"

namespace thresher::gpu {

// A chunk is 8 values of a token: 16 bytes of an image.
inline constexpr u32 kChunksPerTile = kImageRowBytes / 16;

// A few tokens' stretch of k, whose chunks the lanes of a warp take one each.
struct ImageTask {
  u64 first_index = 0;  // of chunks of the group's activations: where the first token's row begins
  u64 values = 0;       // the group's, as in its entry
  u64 scales = 0;
  u32 image_row = 0;  // of all: the first token's, in the image of the task's first k tile
  u32 chunks_per_row = 0;
  u32 first_chunk = 0;  // along k
  u16 width = 0;        // of the tile, 0: there is no such task
  u8 row_in_tile = 0;   // modulo 8
  u8 tokens = 0;        // that there are; what is behind them is zeros

  // Lane `lane`'s, for all lanes.
  THRESHER_DEVICE ImageTask of_lane(int lane) const {
    const auto wide = [lane](u64 value) {
      return u64{hw::shuffle(static_cast<u32>(value >> 32), lane)} << 32 |
             hw::shuffle(static_cast<u32>(value), lane);
    };
    const u32 small = hw::shuffle(u32{width} << 16 | u32{row_in_tile} << 8 | tokens, lane);
    return {.first_index = wide(first_index),
            .values = wide(values),
            .scales = wide(scales),
            .image_row = hw::shuffle(image_row, lane),
            .chunks_per_row = hw::shuffle(chunks_per_row, lane),
            .first_chunk = hw::shuffle(first_chunk, lane),
            .width = static_cast<u16>(small >> 16),
            .row_in_tile = static_cast<u8>(small >> 8),
            .tokens = static_cast<u8>(small)};
  }
};

// Tasks are numbered by group, tokens and stretch of k. All calls are made by a warp together.
template <TokenCut kCut>
class ImageTasks {
 public:
  THRESHER_DEVICE ImageTasks(const GroupTable& table, u32 group_count)
      : table_(table), group_count_(group_count) {
    look();
  }

  // After this, any task may be asked for again.
  THRESHER_DEVICE void rewind() {
    if (first_ == 0) return;
    first_ = tokens_before_ = rows_before_ = tasks_before_ = 0;
    look();
  }

  // Every lane's task of the number it asks for. Nobody may ask for less than anybody did in the
  // call before.
  THRESHER_DEVICE ImageTask find(u32 number) {
    ImageTask task;
    for (;;) {
      const int lane = lane_of(number);
      const Group group = own_.of_lane(lane);
      const u32 begin = hw::shuffle(begin_, lane);
      if (number >= begin && number < tasks_before_) {
        task = task_of(group, number - begin);
        const RowsTable& rows = table_.rows;
        task.values = rows.c != 0 ? rows.activations : load_pointer(&GroupEntry::activations, lane);
        task.scales = rows.c != 0 ? rows.activation_scales
                                  : load_pointer(&GroupEntry::activation_scales, lane);
      }
      const bool all_found = hw::ballot(number >= tasks_before_) == 0;
      if (all_found || first_ + hw::kWarpThreads >= group_count_) return task;
      first_ += hw::kWarpThreads;
      look();
    }
  }

 private:
  // A group as the prologue sees it.
  struct Group {
    u32 first_token = 0;      // among the tokens of all groups
    u32 first_image_row = 0;  // among the images of all groups, in rows of 128 bytes
    u32 token_count = 0;
    u32 k = 0;

    THRESHER_DEVICE u32 k_tile_count() const { return divide_up(k, kTileK); }
    // Tasks that the k of the same tokens is cut into.
    THRESHER_DEVICE u32 stretches() const {
      return divide_up(k_tile_count() * kTileK, kImageTaskK);
    }
    THRESHER_DEVICE Group of_lane(int lane) const {
      return {hw::shuffle(first_token, lane), hw::shuffle(first_image_row, lane),
              hw::shuffle(token_count, lane), hw::shuffle(k, lane)};
    }
  };

  THRESHER_DEVICE u64 load_pointer(u64 GroupEntry::*member, int lane) const {
    return hw::load_global(&(table_.entries[first_ + static_cast<u32>(lane)].*member));
  }

  THRESHER_DEVICE ImageTask task_of(const Group& group, u32 in_group) const {
    const u32 stretches = group.stretches();
    const u32 first = in_group / stretches * kImageTaskTokens;
    const u32 first_chunk = in_group % stretches * hw::kWarpThreads;
    const TokenTiles tiles = cut_tokens(kCut, group.token_count);
    const u32 tile = tiles.tile_of(first);
    const u32 tile_first = tiles.first_token(tile);
    const u32 width = tiles.width_of(tile);
    const u32 left = group.token_count > first ? group.token_count - first : 0;
    const u32 first_row = table_.rows_follow() ? group.first_token : 0;
    return {.first_index = (u64{first_row} + first) * (group.k / 8),
            .image_row = group.first_image_row + tile_first * group.k_tile_count() +
                         first_chunk / kChunksPerTile * width + (first - tile_first),
            .chunks_per_row = group.k / 8,
            .first_chunk = first_chunk,
            .width = static_cast<u16>(width),
            .row_in_tile = static_cast<u8>((first - tile_first) % 8),
            .tokens = static_cast<u8>(left < kImageTaskTokens ? left : kImageTaskTokens)};
  }

  // The lane of the group that a task belongs to, or the last one.
  THRESHER_DEVICE int lane_of(u32 number) const {
    int lane = 0;
    THRESHER_UNROLL
    for (int step = hw::kWarpThreads / 2; step > 0; step /= 2) {
      if (hw::shuffle(end_, lane + step - 1) <= number) lane += step;
    }
    return lane;
  }

  THRESHER_DEVICE void look() {
    const u32 index = first_ + static_cast<u32>(hw::lane_index());
    own_ = {};
    if (index < group_count_) own_.k = hw::load_global(&table_.entries[index].k);
    const auto tokens = LaneTokens::read(table_, index, group_count_, tokens_before_);
    own_.first_token = tokens.first;
    own_.token_count = tokens.count;

    const u32 columns = cut_tokens(kCut, own_.token_count).column_count();
    const u32 rows = columns * own_.k_tile_count();
    const u32 rows_end = rows_before_ + add_up(rows);
    own_.first_image_row = rows_end - rows;

    const u32 tasks = columns / kImageTaskTokens * own_.stretches();
    end_ = tasks_before_ + add_up(tasks);
    begin_ = end_ - tasks;

    rows_before_ = hw::shuffle(rows_end, kLastLane);
    tasks_before_ = hw::shuffle(end_, kLastLane);
  }

  const GroupTable& table_;
  const u32 group_count_;
  u32 first_ = 0;  // the group that lane 0 looks at
  Group own_;
  u32 begin_ = 0;  // the tasks of the own group
  u32 end_ = 0;
  // Up to the last lane's group.
  u32 tokens_before_ = 0;
  u32 rows_before_ = 0;
  u32 tasks_before_ = 0;
};

}  // namespace thresher::gpu
