// SPDX-License-Identifier: Apache-2.0
// Walks the groups in order and sums up what the earlier ones take: tokens, and images.
//
// Every role of every kernel walks by itself; the few numbers come from the caches. What the host
// does not know, how many tokens a group has, is read here and nowhere else.
#pragma once

#include "gpu/hw/hw.cuh"
#include "gpu/kernels/gemm_args.hpp"
#include "gpu/kernels/gemm_config.hpp"
#include "gpu/kernels/token_tiles.hpp"
#include "gpu/kernels/weight_layout.hpp"

namespace thresher::gpu {

// By all threads of a block, before anything walks: brings the groups' numbers into the L1 side by
// side. A walk has to wait for them one after the other, and a walk over many groups would take
// longer than a small problem does.
THRESHER_DEVICE void touch_groups(const GroupTable& table, u32 group_count) {
  const u32 step = static_cast<u32>(hw::thread_count());
  for (u32 i = static_cast<u32>(hw::thread_index()); i < group_count; i += step) {
    hw::load_global(table.token_counts + i);
    hw::load_global(&table.entries[i].k);
    hw::load_global(&table.entries[i].weights);
  }
}

template <TokenCut kCut>
struct GroupWalk {
  const GroupTable& table;
  u32 index = 0;
  u32 first_token = 0;       // of this group among the tokens of all
  u64 first_image_byte = 0;  // of this group among the images of all
  u32 token_count = 0;
  TokenTiles tiles;
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
    tiles = cut_tokens(kCut, token_count);
    k_tile_count = divide_up(k, kTileK);
  }

  // Moves on; read() must follow before anything else is asked.
  THRESHER_DEVICE void next() {
    first_token += token_count;
    first_image_byte += image_row_bytes() * tiles.column_count();
    ++index;
  }

  // Of all images of one column.
  THRESHER_DEVICE u64 image_row_bytes() const {
    return static_cast<u64>(k_tile_count) * kImageRowBytes;
  }

  // Where the images of a tile begin, which follow each other along k.
  THRESHER_DEVICE u64 tile_image_byte(u32 tile_first_token) const {
    return first_image_byte + tile_first_token * image_row_bytes();
  }

  // Rows of activations and of C that lie before this group's in the entry's buffers.
  THRESHER_DEVICE u64 row_offset() const { return table.rows_follow != 0 ? first_token : 0; }
};

}  // namespace thresher::gpu
