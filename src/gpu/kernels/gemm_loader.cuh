// SPDX-License-Identifier: Apache-2.0
// Fills the stages: for every k tile of every tile of the block, the tokens' image and the weights,
// as 1-D bulk copies. Run by a single thread, ahead of the consumers by as many stages as there
// are.
#pragma once

#include "gpu/hw/hw.cuh"
#include "gpu/kernels/gemm_config.hpp"
#include "gpu/kernels/stage_ring.cuh"
#include "gpu/kernels/tile_walk.cuh"

namespace thresher::gpu {

template <GemmConfig kConfig>
class GemmLoader {
 public:
  THRESHER_DEVICE GemmLoader(const GemmArgs& args, const StageRing<kConfig>& ring)
      : walk_(args), ring_(ring), images_(args.images) {}

  // Loads one stage as soon as it is empty; false: everything has been loaded.
  THRESHER_DEVICE bool load_next() {
    while (k_tiles_left_ == 0) {
      if (!walk_.next()) return false;
      start_tile();
    }
    const u32 stage = position_.stage;
    hw::barrier_wait(ring_.empty(stage), position_.parity ^ 1);
    hw::barrier_arrive_expect(
        ring_.full(stage),
        image_bytes(kConfig.tokens) + StageRing<kConfig>::kLayout.weight_stage_bytes);
    hw::copy_to_shared(ring_.image(stage), image_, image_bytes(kConfig.tokens), ring_.full(stage));
    THRESHER_UNROLL
    for (u32 i = 0; i < kWeightTiles; ++i) {
      hw::copy_to_shared(ring_.weights(stage) + i * kTileBytes, weights_[i], kTileBytes,
                         ring_.full(stage));
      weights_[i] += kTileBytes;
    }
    image_ += image_bytes(kConfig.tokens);
    --k_tiles_left_;
    position_.advance();
    return true;
  }

 private:
  static constexpr u32 kWeightTiles = kConfig.weight_rows / kTileRows;

  THRESHER_DEVICE void start_tile() {
    const Tile& tile = walk_.tile();
    const auto& group = walk_.group();
    k_tiles_left_ = tile.k_tile_count;
    const u64 image = group.first_image + static_cast<u64>(tile.token_tile) * group.k_tile_count +
                      tile.first_k_tile;
    image_ = images_ + image * image_bytes(kConfig.tokens);

    // Where the rows end before the block's tile does, the last weights are loaded again; nobody
    // stores what comes of them.
    constexpr u32 kColumns = kTileRows / rows_per_column(kConfig.product);
    const u32 last = (group.n + kColumns - 1) / kColumns - 1;
    const auto* weights = reinterpret_cast<const u8*>(hw::load_global(&group.entry().weights));
    THRESHER_UNROLL
    for (u32 i = 0; i < kWeightTiles; ++i) {
      const u32 asked = tile.row_tile * kWeightTiles + i;
      const u32 row_tile = asked < last ? asked : last;
      const u64 weight_tile = static_cast<u64>(row_tile) * group.k_tile_count + tile.first_k_tile;
      weights_[i] = weights + weight_tile * kTileBytes;
    }
  }

  WalkOf<kConfig> walk_;
  const StageRing<kConfig>& ring_;
  const u8* images_;
  RingPosition<kConfig.stages> position_;
  u32 k_tiles_left_ = 0;
  const u8* image_ = nullptr;
  const u8* weights_[kWeightTiles] = {};
};

}  // namespace thresher::gpu
