// SPDX-License-Identifier: Apache-2.0
// Walks the groups in order and sums up what the earlier ones take: tokens, and images.
//
// Every role of every kernel walks by itself; the few numbers come from the caches. What the host
// does not know, how many tokens a group has, is read here and nowhere else.
#pragma once

#include "gpu/hw/hw.cuh"
#include "gpu/kernels/gemm_args.hpp"
#include "gpu/kernels/weight_layout.hpp"

namespace thresher::gpu {

template <int kTokens>
struct GroupWalk {
  const GroupTable& table;
  u32 index = 0;
  u32 first_token = 0;  // of this group among the tokens of all
  u64 first_image = 0;  // of this group among the images of all
  u32 token_count = 0;
  u32 token_tile_count = 0;
  u32 n = 0;
  u32 k = 0;
  u32 k_tile_count = 0;

  THRESHER_DEVICE explicit GroupWalk(const GroupTable& the_table) : table(the_table) {}

  THRESHER_DEVICE const GroupEntry& entry() const { return table.entries[index]; }

  // Reads group `index`. A count beyond the limit is cut: what does not fit is not computed, but
  // nothing out of bounds is touched.
  THRESHER_DEVICE void read() {
    const u32 asked = hw::load_global(table.token_counts + index);
    n = hw::load_global(&entry().n);
    k = hw::load_global(&entry().k);
    const u32 left = table.token_limit - first_token;
    token_count = asked < left ? asked : left;
    token_tile_count = (token_count + kTokens - 1) / kTokens;
    k_tile_count = (k + kTileK - 1) / kTileK;
  }

  // Moves on; read() must follow before anything else is asked.
  THRESHER_DEVICE void next() {
    first_token += token_count;
    first_image += static_cast<u64>(token_tile_count) * k_tile_count;
    ++index;
  }

  // Rows of activations and of C that lie before this group's in the entry's buffers.
  THRESHER_DEVICE u64 row_offset() const { return table.rows_follow != 0 ? first_token : 0; }
};

}  // namespace thresher::gpu
