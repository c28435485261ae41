// SPDX-License-Identifier: Apache-2.0
// One thread fetches the weights of every stage: a k tile of 128 rows, gate and up side by side, is
// one bulk copy. Weights do not depend on kernels before, and are asked for at once. Where an odd
// number of row tiles leaves a pair's second block without one, it fetches the last again: what it
// makes of that is stored nowhere.
//
// Two blocks that share weights copy half of a stage each, to both. With loads = boxes the group's
// entry has a tensor map instead of the weights' address, of rows of 128 bytes as they are packed;
// of a pair, bytes that come to either block count at the leader's barrier.
#pragma once

#include "gpu/hw/hw.cuh"
#include "gpu/sm100/kernels/tensor_ring.cuh"

namespace thresher::gpu::sm100 {

template <GemmConfig kConfig>
class WeightLoader {
 public:
  THRESHER_DEVICE WeightLoader(const GemmArgs& args, const TensorRing<kConfig>& ring)
      : ring_(ring), walk_(args, ring.book()) {}

  THRESHER_DEVICE void run() {
    while (walk_.next()) load_tile();
    hw::start_next_kernel();
    // Commits of the last MMAs arrive in shared memory, so the block must not end before them.
    for (u32 i = 0; i < kConfig.stages; ++i) {
      hw::barrier_wait<kBlocks>(ring_.empty(position_.stage), position_.parity ^ 1);
      position_.advance();
    }
  }

 private:
  using Ring = TensorRing<kConfig>;
  static constexpr int kBlocks = Ring::kBlocks;
  static constexpr bool kBoxes = kConfig.loads == Loads::kBoxes;
  static constexpr u32 kMatrices = packed_matrices(kConfig.product);
  static constexpr u32 kStageBytes = Ring::kLayout.weight_stage_bytes;

  THRESHER_DEVICE u32 row_tile() const {
    if constexpr (Ring::kMmaBlocks == 1) return walk_.tile().row_tile;
    const u32 own = walk_.tile().row_tile * Ring::kMmaBlocks + Ring::rank();
    const u32 last = divide_up(walk_.group().n, kTileRows) - 1;
    return own < last ? own : last;
  }

  // The first tile of a matrix that a stage is filled with, in the order of packed weights.
  THRESHER_DEVICE u64 first_matrix_tile() const {
    const u64 tile =
        u64{row_tile()} * k_tiles_in<kConfig>(walk_.group()) + walk_.tile().first_k_tile;
    return tile * kMatrices + first_matrix(kConfig.product);
  }

  THRESHER_DEVICE void load_tile() {
    const u64 weights = hw::load_global(&walk_.group().entry().weights);
    u64 matrix_tile = first_matrix_tile();
    if constexpr (kBoxes) fence_map(weights);
    THRESHER_NO_UNROLL
    for (u32 i = walk_.tile().k_tile_count; i > 0; --i) {
      hw::barrier_wait<kBlocks>(ring_.empty(position_.stage), position_.parity ^ 1);
      expect();
      load_stage(weights, matrix_tile);
      matrix_tile += kMatrices;
      position_.advance();
    }
  }

  // Once for a group's tiles.
  THRESHER_DEVICE void fence_map(u64 map) {
    if (map == fenced_) return;
    hw::tensor_map_fence(map_at(map));
    fenced_ = map;
  }

  // Of a pair that counts at one barrier, the leader expects what both bring.
  THRESHER_DEVICE void expect() const {
    const hw::SharedAddress full = ring_.full(position_.stage);
    if constexpr (Ring::kToLeader) {
      if (Ring::rank() == 0) hw::barrier_arrive_expect(full, kBlocks * kStageBytes);
    } else {
      hw::barrier_arrive_expect(full, kStageBytes);
    }
  }

  THRESHER_DEVICE void load_stage(u64 weights, u64 matrix_tile) const {
    const hw::SharedAddress to = ring_.weights(position_.stage);
    const hw::SharedAddress full = ring_.full(position_.stage);
    const u8* const from = reinterpret_cast<const u8*>(weights) + matrix_tile * kTileBytes;
    if constexpr (kBoxes) {
      load_boxes(map_at(weights), static_cast<u32>(matrix_tile) * kTileBoxRows);
    } else if constexpr (Ring::kShared) {
      constexpr u32 kShareBytes = kStageBytes / kBlocks;
      const u32 share = Ring::rank() * kShareBytes;
      hw::copy_once_to_blocks(to + share, from + share, kShareBytes, full, Ring::kAllBlocks);
    } else {
      hw::copy_once_to_shared(to, from, kStageBytes, full);
    }
  }

  THRESHER_DEVICE void load_boxes(const hw::TensorMap* map, u32 row) const {
    THRESHER_UNROLL
    for (u32 product = 0; product < Ring::kProducts; ++product) {
      hw::copy_box_to_shared<Ring::kMmaBlocks>(
          ring_.weights(position_.stage) + product * kTileBytes, map, 0,
          row + product * kTileBoxRows, ring_.full(position_.stage));
    }
  }

  static THRESHER_DEVICE const hw::TensorMap* map_at(u64 address) {
    return reinterpret_cast<const hw::TensorMap*>(address);
  }

  const Ring& ring_;
  WalkOf<kConfig, Walker::kThread> walk_;
  StagePosition<kConfig> position_;
  u64 fenced_ = 0;  // the last map
};

}  // namespace thresher::gpu::sm100
