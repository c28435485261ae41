// SPDX-License-Identifier: Apache-2.0
// Four warps bring the tokens of every stage into the MMA's layout, from activations as the caller
// has them: a thread takes blocks of 16 codes with their scale, a slab of rows at a time, and asks
// for the next before it stores these. A negative scale flips its codes, as in packed weights. Rows
// beyond the group's tokens and k beyond the matrix become zeros. A block of a pair takes the codes
// of its half of the rows, and the scales of all; of two blocks that share weights, each takes its
// own rows.
#pragma once

#include "gpu/hw/hw.cuh"
#include "gpu/sm100/kernels/tensor_ring.cuh"

namespace thresher::gpu::sm100 {

template <GemmConfig kConfig>
class TokenLoader {
 public:
  THRESHER_DEVICE TokenLoader(const GemmArgs& args, const TensorRing<kConfig>& ring)
      : args_(args),
        ring_(ring),
        walk_(args, ring.book()),
        row_(thread() / kBlocksPerTile),
        block_(thread() % kBlocksPerTile) {}

  // Before the block meets: MMAs read scales by 128 rows, whoever has that many tokens.
  static THRESHER_DEVICE void clear_scales(const TensorRing<kConfig>& ring) {
    constexpr u32 kBytes = kConfig.stages * TensorRing<kConfig>::kLayout.token_scale_stage_bytes;
    for (u32 at = 16 * thread(); at < kBytes; at += 16 * kTokenThreads) {
      hw::store_shared(ring.token_scales(0) + at, U32x4{});
    }
  }

  THRESHER_DEVICE void run() {
    Slab current;
    bool exists = find_slab();
    if (exists) load(current);
    while (exists) {
      const u32 first_row = slab_ * kSlabRows;
      const u32 width = width_;
      const bool is_last = first_row + kSlabRows >= width;
      exists = find_slab();
      Slab next;
      if (exists) load(next);
      store(current, first_row, width);
      if (is_last) finish_stage();
      current = next;
    }
  }

 private:
  using Ring = TensorRing<kConfig>;
  // Fewer at a time where blocks share the registers of an SM.
  static constexpr u32 kSlabRows = kConfig.blocks_per_sm > 1 ? 32 : 64;
  static constexpr u32 kRowsAtATime = kTokenThreads / kBlocksPerTile;
  static constexpr u32 kBlocks = kSlabRows / kRowsAtATime;

  // A thread's blocks of a slab.
  struct Slab {
    U32x2 codes[kBlocks];
    u32 scales[kBlocks];
  };

  static THRESHER_DEVICE u32 thread() {
    return static_cast<u32>(hw::thread_index() - kTokenWarp * hw::kWarpThreads);
  }

  // Moves on to the next slab, k tile or tile; false: there are none.
  THRESHER_DEVICE bool find_slab() {
    if (k_tiles_left_ > 0) {
      ++slab_;
      if (slab_ * kSlabRows < width_) return true;
      slab_ = 0;
      first_block_ += kBlocksPerTile;
      if (--k_tiles_left_ > 0) return true;
    }
    do {  // of few k tiles a part may have none
      if (!walk_.next()) return false;
    } while (walk_.tile().k_tile_count == 0);
    begin_tile();
    return true;
  }

  THRESHER_DEVICE void begin_tile() {
    const auto& group = walk_.group();
    const RowsTable& rows = args_.table.rows;
    const bool follow = args_.table.rows_follow();
    const auto& entry = group.entry();
    codes_from_ = reinterpret_cast<const U32x2*>(follow ? rows.activations
                                                        : hw::load_global(&entry.activations));
    scales_from_ = reinterpret_cast<const u8*>(follow ? rows.activation_scales
                                                      : hw::load_global(&entry.activation_scales));
    const u32 first = walk_.tile().first_token + Ring::first_token(walk_.tile());
    first_row_ = group.row_offset() + first;
    const u32 left = group.token_count > first ? group.token_count - first : 0;
    width_ = Ring::width(walk_.tile());
    token_count_ = left < width_ ? left : width_;
    blocks_per_row_ = group.k / kBlockK;
    k_tiles_left_ = walk_.tile().k_tile_count;
    first_block_ = walk_.tile().first_k_tile * kBlocksPerTile;
    slab_ = 0;
  }

  THRESHER_DEVICE void load(Slab& slab) const {
    const u32 block = first_block_ + block_;
    const u32 row = slab_ * kSlabRows + row_;
    const u64 first = (first_row_ + row) * blocks_per_row_ + block;
    THRESHER_UNROLL
    for (u32 i = 0; i < kBlocks; ++i) {
      slab.codes[i] = {};
      slab.scales[i] = 0;
      const u32 this_row = row + i * kRowsAtATime;
      if (this_row >= token_count_ || block >= blocks_per_row_) continue;
      const u64 index = first + u64{i} * kRowsAtATime * blocks_per_row_;
      if (is_own(this_row, width_)) slab.codes[i] = hw::load_global(codes_from_ + index);
      slab.scales[i] = hw::load_global(scales_from_ + index);
    }
  }

  THRESHER_DEVICE void store(const Slab& slab, u32 first_row, u32 width) {
    const u32 stage = position_.stage;
    if (first_row == 0) hw::barrier_wait<Ring::kBlocks>(ring_.empty(stage), position_.parity ^ 1);
    THRESHER_UNROLL
    for (u32 i = 0; i < kBlocks; ++i) {
      const u32 row = first_row + row_ + i * kRowsAtATime;
      if (row >= width) continue;
      if (is_own(row, width)) store_codes(slab, i, row - first_own(width));
      hw::store_shared(
          ring_.token_scales(stage) + scale_place(row, block_, token_row_blocks(kConfig)),
          static_cast<u8>(slab.scales[i] & 0x7f));
    }
  }

  // Where the block's share of the rows of a pair's MMA begins.
  static THRESHER_DEVICE u32 first_own(u32 width) {
    if constexpr (Ring::kMmaBlocks == 1) return 0;
    return width / Ring::kMmaBlocks * Ring::rank();
  }
  static THRESHER_DEVICE bool is_own(u32 row, u32 width) {
    if constexpr (Ring::kMmaBlocks == 1) return true;
    return row - first_own(width) < width / Ring::kMmaBlocks;
  }

  // `row` counts from the block's first.
  THRESHER_DEVICE void store_codes(const Slab& slab, u32 i, u32 row) const {
    const u32 flip = (slab.scales[i] & 0x80) != 0 ? 0x88888888 : 0;
    hw::store_shared(ring_.tokens(position_.stage) + code_place(row, block_),
                     U32x2{slab.codes[i].x ^ flip, slab.codes[i].y ^ flip});
  }

  THRESHER_DEVICE void finish_stage() {
    hw::fence_async();
    if constexpr (Ring::kToLeader) {
      hw::barrier_arrive_cluster(hw::cluster_address(ring_.full(position_.stage), 0));
    } else {
      hw::barrier_arrive(ring_.full(position_.stage));
    }
    position_.advance();
  }

  const GemmArgs& args_;
  const TensorRing<kConfig>& ring_;
  WalkOf<kConfig, Walker::kWarp> walk_;
  const u32 row_;    // the first of a slab
  const u32 block_;  // of a k tile's 16
  StagePosition<kConfig> position_;
  const U32x2* codes_from_ = nullptr;
  const u8* scales_from_ = nullptr;
  u64 first_row_ = 0;  // of the tile, among those there
  u32 blocks_per_row_ = 0;
  u32 first_block_ = 0;  // of the k tile
  u32 k_tiles_left_ = 0;
  u32 slab_ = 0;
  u32 width_ = 0;
  u32 token_count_ = 0;
};

}  // namespace thresher::gpu::sm100
