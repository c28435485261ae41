// SPDX-License-Identifier: Apache-2.0
// One thread fetches the weights of every stage: a k tile of 128 rows, gate and up side by side, is
// one bulk copy. Weights do not depend on kernels before, and are asked for at once. Where an odd
// number of row tiles leaves a pair's second block without one, it fetches the last again: what it
// makes of that is stored nowhere.
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
  static constexpr int kBlocks = TensorRing<kConfig>::kBlocks;
  static constexpr u32 kMatrices = packed_matrices(kConfig.product);
  static constexpr u32 kStageBytes = TensorRing<kConfig>::kLayout.weight_stage_bytes;

  THRESHER_DEVICE u32 row_tile() const {
    const u32 own = walk_.tile().row_tile * kBlocks + TensorRing<kConfig>::rank();
    if constexpr (kBlocks == 1) return own;
    const u32 last = divide_up(walk_.group().n, kTileRows) - 1;
    return own < last ? own : last;
  }

  THRESHER_DEVICE void load_tile() {
    const auto& group = walk_.group();
    const u64 first =
        (u64{row_tile()} * k_tiles_in<kConfig>(group) + walk_.tile().first_k_tile) * kMatrices;
    const u8* from = reinterpret_cast<const u8*>(hw::load_global(&group.entry().weights)) +
                     (first + first_matrix(kConfig.product)) * kTileBytes;
    THRESHER_NO_UNROLL
    for (u32 i = walk_.tile().k_tile_count; i > 0; --i) {
      const u32 stage = position_.stage;
      hw::barrier_wait<kBlocks>(ring_.empty(stage), position_.parity ^ 1);
      hw::barrier_arrive_expect(ring_.full(stage), kStageBytes);
      hw::copy_once_to_shared(ring_.weights(stage), from, kStageBytes, ring_.full(stage));
      from += kMatrices * kTileBytes;
      position_.advance();
    }
  }

  const TensorRing<kConfig>& ring_;
  sm90::WalkOf<kConfig, sm90::Walker::kThread> walk_;
  StagePosition<kConfig> position_;
};

}  // namespace thresher::gpu::sm100
