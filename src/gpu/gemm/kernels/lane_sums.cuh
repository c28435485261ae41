// SPDX-License-Identifier: Apache-2.0
// Sums over the lanes of a warp, and the tokens of 32 groups at a time: when they can be read, and
// how.
#pragma once

#include "gpu/gemm/kernels/gemm_args.hpp"
#include "gpu/hw/hw.cuh"

namespace thresher::gpu {

inline constexpr int kLastLane = hw::kWarpThreads - 1;

// By a warp together: its lanes' values added up, each with those of all lanes before it. A sum
// beyond `limit` is cut to it; the values are not beyond it, so that nothing overflows.
THRESHER_DEVICE u32 add_up(u32 value, u32 limit = ~0u) {
  const int lane = hw::lane_index();
  THRESHER_UNROLL
  for (int distance = 1; distance < hw::kWarpThreads; distance *= 2) {
    const u32 before = hw::shuffle(value, lane < distance ? lane : lane - distance);
    const u32 sum = value + before;
    if (lane >= distance) value = sum < limit ? sum : limit;
  }
  return value;
}

// The tokens of a lane's group: those before it, and its own. A count beyond the limit is cut: what
// does not fit is not computed, but nothing out of bounds is touched.
struct LaneTokens {
  u32 first = 0;
  u32 count = 0;

  // By a warp together; lane i asks for group i after `tokens_before` tokens, which become those
  // before the next 32 groups.
  static THRESHER_DEVICE LaneTokens read(const GroupTable& table, u32 index, u32 group_count,
                                         u32& tokens_before) {
    const u32 limit = table.token_limit - tokens_before;
    u32 asked = index < group_count ? hw::load_global(table.token_counts + index) : 0;
    asked = asked < limit ? asked : limit;
    const u32 end = add_up(asked, limit);
    const u32 before = hw::shuffle(end, hw::lane_index() - 1);
    const u32 begin = hw::lane_index() == 0 ? 0 : before;
    const LaneTokens tokens{tokens_before + begin, end - begin};
    tokens_before += hw::shuffle(end, kLastLane);
    return tokens;
  }
};

// By all threads of a kernel, before they read the table: waits for the kernels before if one of
// those may write the token counts, and has the table brought nearer meanwhile.
THRESHER_DEVICE void wait_for_counts(const GroupTable& table, u32 group_count) {
  if (table.counts_known != 0) return;
  for (u32 i = static_cast<u32>(hw::thread_index()); i < group_count;
       i += static_cast<u32>(hw::thread_count())) {
    hw::prefetch(table.entries + i);
    hw::prefetch(table.token_counts + i);
  }
  hw::wait_for_previous_kernel();
}

}  // namespace thresher::gpu
