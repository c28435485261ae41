// SPDX-License-Identifier: Apache-2.0
// Finds the group that a piece of the prologue's work belongs to.
//
// A warp looks at 32 groups at a time, one per lane, so that finding a task among many groups takes
// as long as among a few: the prologue's tasks are so short that walking over the groups one by one
// (group_walk.cuh) would take longer than the work.
#pragma once

#include "gpu/hw/hw.cuh"
#include "gpu/kernels/gemm_args.hpp"
#include "gpu/kernels/gemm_config.hpp"
#include "gpu/kernels/image_config.hpp"
#include "gpu/kernels/lane_sums.cuh"
#include "gpu/kernels/token_tiles.hpp"
#include "gpu/kernels/weight_layout.hpp"

namespace thresher::gpu {

// A group as the prologue sees it.
struct ImageGroup {
  u32 index = 0;
  u32 first_token = 0;      // among the tokens of all groups
  u32 first_image_row = 0;  // among the images of all groups, in rows of 128 bytes
  u32 token_count = 0;
  u32 k = 0;

  THRESHER_DEVICE u32 k_tile_count() const { return divide_up(k, kTileK); }
  // Tasks that the k of the same tokens is cut into.
  THRESHER_DEVICE u32 stretches() const { return divide_up(k_tile_count() * kTileK, kImageTaskK); }
};

// Tasks are numbered by group, tokens and stretch of k. All calls are made by a warp together.
template <TokenCut kCut>
class ImageTasks {
 public:
  THRESHER_DEVICE ImageTasks(const GroupTable& table, u32 group_count)
      : table_(table), group_count_(group_count) {
    look();
  }

  // The group of task `task`, and the task's number in it; false: there is no such task. Tasks must
  // not decrease from call to call.
  THRESHER_DEVICE bool find(u32 task, ImageGroup& group, u32& in_group) {
    while (task >= tasks_before_) {
      if (first_ + hw::kWarpThreads >= group_count_) return false;
      first_ += hw::kWarpThreads;
      look();
    }
    const int lane = hw::count_bits(hw::ballot(end_ <= task));
    group = {.index = first_ + static_cast<u32>(lane),
             .first_token = hw::shuffle(own_.first_token, lane),
             .first_image_row = hw::shuffle(own_.first_image_row, lane),
             .token_count = hw::shuffle(own_.token_count, lane),
             .k = hw::shuffle(own_.k, lane)};
    in_group = task - hw::shuffle(begin_, lane);
    return true;
  }

 private:
  THRESHER_DEVICE void look() {
    own_ = {.index = first_ + static_cast<u32>(hw::lane_index())};
    if (own_.index < group_count_) own_.k = hw::load_global(&table_.entries[own_.index].k);
    const auto tokens = LaneTokens::read(table_, own_.index, group_count_, tokens_before_);
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
  ImageGroup own_;
  u32 begin_ = 0;  // the tasks of the own group
  u32 end_ = 0;
  // Up to the last lane's group.
  u32 tokens_before_ = 0;
  u32 rows_before_ = 0;
  u32 tasks_before_ = 0;
};

}  // namespace thresher::gpu
