// SPDX-License-Identifier: Apache-2.0
// Walks the groups in order and sums up what the earlier ones take: tokens, and images.
//
// Every role of every kernel walks by itself, from where the book (group_book.cuh) says. What the
// host does not know, how many tokens a group has, is read here and in lane_sums.cuh.
#pragma once

#include "gpu/gemm/kernels/gemm_args.hpp"
#include "gpu/gemm/kernels/gemm_config.hpp"
#include "gpu/gemm/kernels/token_tiles.hpp"
#include "gpu/gemm/kernels/weight_layout.hpp"
#include "gpu/hw/hw.cuh"

namespace thresher::gpu {

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
    const u32 left = table.token_limit - first_token;
    read_shape();
    set_tokens(asked < left ? asked : left);
  }

  THRESHER_DEVICE void read_shape() {
    n = hw::load_global(&entry().n);
    k = hw::load_global(&entry().k);
    k_tile_count = divide_up(k, kTileK);
  }

  THRESHER_DEVICE void set_tokens(u32 count) {
    token_count = count;
    tiles = cut_tokens(kCut, count);
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

  // Rows of activations and of C that lie before this group's where those of all groups follow each
  // other.
  THRESHER_DEVICE u64 row_offset() const { return table.rows_follow() ? first_token : 0; }
};

}  // namespace thresher::gpu
