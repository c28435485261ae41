// SPDX-License-Identifier: Apache-2.0
// The ring of stages between loads and MMAs, and the buffers of sums between MMAs and stores: where
// they are, and who tells whom that they are free or full.
#pragma once

#include "gpu/gemm/kernels/group_book.cuh"
#include "gpu/gemm/kernels/stage_ring.cuh"
#include "gpu/gemm/kernels/tile_walk.cuh"
#include "gpu/hw/hw.cuh"
#include "gpu/sm100/kernels/tensor_layout.hpp"

namespace thresher::gpu::sm100 {

// Who does what: four warps store, four load tokens, one thread loads weights, one multiplies, and
// a warp writes the book of where groups begin. Of a pair of blocks one multiplies, the leader; in
// the other that thread tells the leader what has been loaded there, where nobody else does.
inline constexpr int kStoreWarps = 4;
inline constexpr int kTokenWarps = 4;
inline constexpr int kTokenThreads = kTokenWarps * hw::kWarpThreads;
enum RoleWarp : int { kTokenWarp = kStoreWarps, kWeightWarp = 8, kMultiplyWarp, kBookWarp };

template <GemmConfig kConfig>
using StagePosition = RingPosition<kConfig.stages>;
template <GemmConfig kConfig>
using SumsPosition = RingPosition<static_cast<int>(tensor_columns(kConfig).buffers)>;

template <GemmConfig kConfig>
struct TensorRing {
  static constexpr TensorShared kLayout = tensor_shared(kConfig);
  static constexpr TensorColumns kColumns = tensor_columns(kConfig);
  static constexpr u32 kProducts = products_per_tile(kConfig.product);
  static constexpr int kBlocks = blocks_per_tile(kConfig);
  static constexpr int kMmaBlocks = blocks_per_mma(kConfig);
  static constexpr bool kShared = shares_weights(kConfig);
  // Whether bytes and threads of both blocks of a pair arrive at the leader's barrier.
  static constexpr bool kToLeader = kMmaBlocks > 1 && kConfig.loads == Loads::kBoxes;
  static constexpr u32 kAllBlocks = (1u << kBlocks) - 1;

  hw::SharedAddress base;

  THRESHER_DEVICE hw::SharedAddress tokens(u32 stage) const {
    return base + stage * (block_tokens(kConfig) * kCodeRowBytes);
  }
  THRESHER_DEVICE hw::SharedAddress weights(u32 stage) const {
    return base + kLayout.weights + stage * kLayout.weight_stage_bytes;
  }
  THRESHER_DEVICE hw::SharedAddress token_scales(u32 stage) const {
    return base + kLayout.token_scales + stage * kLayout.token_scale_stage_bytes;
  }
  THRESHER_DEVICE hw::SharedAddress full(u32 stage) const {
    return base + kLayout.full + 8 * stage;
  }
  THRESHER_DEVICE hw::SharedAddress empty(u32 stage) const {
    return base + kLayout.empty + 8 * stage;
  }
  THRESHER_DEVICE hw::SharedAddress sums_full(u32 buffer) const {
    return base + kLayout.sums_full + 8 * buffer;
  }
  THRESHER_DEVICE hw::SharedAddress sums_empty(u32 buffer) const {
    return base + kLayout.sums_empty + 8 * buffer;
  }
  THRESHER_DEVICE hw::SharedAddress slot() const { return base + kLayout.slot; }
  THRESHER_DEVICE hw::SharedAddress flag() const { return base + kLayout.flag; }
  THRESHER_DEVICE hw::SharedAddress staging() const { return base + kLayout.staging; }
  THRESHER_DEVICE GroupBook book() const { return {base + kLayout.book}; }

  // In tensor memory, from its first column on.
  static THRESHER_DEVICE u32 sums(u32 buffer, u32 product) {
    return (buffer * kProducts + product) * mma_tokens(kConfig);
  }
  static THRESHER_DEVICE u32 a_scales(u32 stage, u32 product) {
    return b_scales(stage) + kColumns.b_scales + product * kColumns.a_scales;
  }
  static THRESHER_DEVICE u32 b_scales(u32 stage) {
    return kColumns.sums + stage * (kProducts * kColumns.a_scales + kColumns.b_scales);
  }

  // The block's place in its cluster; of a pair 0 leads, and so is every block that is alone.
  static THRESHER_DEVICE u32 rank() {
    if constexpr (kBlocks == 1) return 0;
    return static_cast<u32>(hw::cluster_rank());
  }

  // The tokens of a tile that the block has sums of: how many, and the first.
  static THRESHER_DEVICE u32 width(const Tile& tile) {
    return kShared ? tile.width / kBlocks : tile.width;
  }
  static THRESHER_DEVICE u32 first_token(const Tile& tile) {
    return kShared ? rank() * width(tile) : 0;
  }

  // By one thread, before the block meets. A stage is full when its weights have arrived and all
  // threads that load tokens have; the leader's, when the other block's is full too. It is empty
  // when nobody reads it any more, in neither block. All commits of a pair arrive in both blocks;
  // who stores tells the leader.
  THRESHER_DEVICE void init() const {
    for (u32 stage = 0; stage < kConfig.stages; ++stage) {
      hw::barrier_init(full(stage), full_arrivals());
      hw::barrier_init(empty(stage), kShared ? kBlocks : 1);
    }
    for (u32 buffer = 0; buffer < kColumns.buffers; ++buffer) {
      hw::barrier_init(sums_full(buffer), 1);
      hw::barrier_init(sums_empty(buffer), kMmaBlocks * kStoreWarps * hw::kWarpThreads);
    }
    hw::barrier_init_fence();
  }

 private:
  // Who loads weights, who loads tokens, and of a pair's other block one thread or all of these.
  static THRESHER_DEVICE u32 full_arrivals() {
    constexpr u32 kOwn = 1 + kTokenThreads;
    if constexpr (kMmaBlocks == 1) return kOwn;
    if (rank() != 0) return kOwn;
    return kOwn + (kToLeader ? kTokenThreads : 1);
  }
};

template <GemmConfig kConfig>
THRESHER_DEVICE u32 k_tiles_in(const GroupWalkOf<kConfig>& group) {
  static_assert(kTileK == k_tiles_per_stage(kConfig) * gpu::kTileK);
  return k_tiles_of<kConfig>(group);
}

}  // namespace thresher::gpu::sm100
