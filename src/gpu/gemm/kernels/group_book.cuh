// SPDX-License-Identifier: Apache-2.0
// Where groups begin, looked up instead of walked to.
//
// A schedule lays the work of all groups in a line and must find the group that a place in the line
// lies in. Walking there group by group (group_walk.cuh) takes longer than a small problem does. So
// a warp of every block writes down, before anything else, where the groups begin, 32 of them at a
// time; with more groups than entries, where every second or third begins.
#pragma once

#include "gpu/gemm/kernels/gemm_config.hpp"
#include "gpu/gemm/kernels/group_walk.cuh"
#include "gpu/gemm/kernels/lane_sums.cuh"
#include "gpu/hw/hw.cuh"

namespace thresher::gpu {

struct BookEntry {
  u32 begin = 0;  // in the line
  u32 first_token = 0;
  u32 first_image_row = 0;
  u32 group = 0;
};

struct GroupBook {
  hw::SharedAddress at;

  // By a warp together, for a launch of groups first_group to group_count. `length(group)`: how
  // long a group is in the line, given a GroupWalk.
  template <TokenCut kCut, typename Length>
  THRESHER_DEVICE void write(const GroupTable& table, u32 first_group, u32 group_count,
                             const Length& length) const {
    const u32 lane = static_cast<u32>(hw::lane_index());
    const u32 groups_per_entry = divide_up(group_count, kBookEntries);
    u32 tokens_before = 0;
    u32 image_rows_before = 0;
    u32 length_before = 0;
    for (u32 first = 0; first < group_count; first += hw::kWarpThreads) {
      GroupWalk<kCut> group(table);
      group.index = first + lane;
      if (group.index < group_count) group.read_shape();  // first: the tokens wait for their loads
      const auto tokens = LaneTokens::read(table, group.index, group_count, tokens_before);
      group.set_tokens(tokens.count);

      const u32 image_rows = group.tiles.column_count() * group.k_tile_count;
      const u32 image_rows_end = image_rows_before + add_up(image_rows);
      const u32 own_length = group.index < group_count ? length(group) : 0;
      const u32 end = length_before + add_up(own_length);
      if (group.index < group_count && group.index % groups_per_entry == 0) {
        hw::store_shared(
            entry(group.index / groups_per_entry),
            U32x4{end - own_length, tokens.first, image_rows_end - image_rows, group.index});
      }
      if (group.index == first_group) hw::store_shared(launch(), end - own_length);
      image_rows_before = hw::shuffle(image_rows_end, kLastLane);
      length_before = hw::shuffle(end, kLastLane);
    }
    const u32 used = group_count == 0 ? 0 : divide_up(group_count, groups_per_entry);
    for (u32 i = used + lane; i < kBookEntries; i += hw::kWarpThreads) {
      hw::store_shared(entry(i), U32x4{kBeyond, 0, 0, 0});
    }
    if (lane == 0) hw::store_shared(launch() + 4, length_before);
  }

  // Where the launch's first group begins, and the line's length.
  THRESHER_DEVICE u32 begin_of_launch() const { return hw::load_shared<u32>(launch()); }
  THRESHER_DEVICE u32 length() const { return hw::load_shared<u32>(launch() + 4); }

  // The last entry that does not begin behind `position`.
  THRESHER_DEVICE BookEntry find(u32 position) const {
    u32 index = 0;
    THRESHER_UNROLL
    for (u32 step = kBookEntries / 2; step > 0; step /= 2) {
      if (hw::load_shared<u32>(entry(index + step)) <= position) index += step;
    }
    const auto words = hw::load_shared<U32x4>(entry(index));
    return {words.x, words.y, words.z, words.w};
  }

 private:
  static constexpr u32 kBeyond = ~0u;

  THRESHER_DEVICE hw::SharedAddress entry(u32 index) const { return at + index * kBookEntryBytes; }
  THRESHER_DEVICE hw::SharedAddress launch() const { return entry(kBookEntries); }
};

}  // namespace thresher::gpu
