// SPDX-License-Identifier: Apache-2.0
// Fills the stages: for every k tile of every tile of the block, the tokens' image and the weights,
// as 1-D bulk copies. Run by a single thread, ahead of the consumers by as many stages as there
// are. Images come from the kernel before; weights do not, and the first are fetched while that one
// still runs.
#pragma once

#include "gpu/gemm/kernels/gemm_config.hpp"
#include "gpu/gemm/kernels/stage_ring.cuh"
#include "gpu/gemm/kernels/tile_walk.cuh"
#include "gpu/hw/hw.cuh"
#include "gpu/sm90/kernels/image_shares.cuh"

namespace thresher::gpu::sm90 {

template <GemmConfig kConfig>
class GemmLoader {
 public:
  THRESHER_DEVICE GemmLoader(const GemmArgs& args, const StageRing<kConfig>& ring)
      : args_(args), walk_(args, ring.book()), ring_(ring) {}

  // Fills the ring for the first time.
  THRESHER_DEVICE void start() {
    if (walk_.next()) start_tile();
    const u32 early = k_tiles_left_ < kEarlyStages ? k_tiles_left_ : kEarlyStages;
    for (u32 stage = 0; stage < early; ++stage) load_weights(stage);
    wait_for_images();
    for (u32 stage = 0; stage < early; ++stage) load_image(stage);
    if constexpr (kConfig.prologue == Prologue::kInside) ImageShares<kConfig>(args_, ring_).leave();
    k_tiles_left_ -= early;
    for (u32 stage = 0; stage < early; ++stage) position_.advance();
    for (u32 stage = early; stage < kConfig.stages; ++stage) load_next();
  }

  // Loads one stage as soon as it is empty; false: everything has been loaded.
  THRESHER_DEVICE bool load_next() {
    while (k_tiles_left_ == 0) {
      if (!walk_.next()) return false;
      start_tile();
    }
    const u32 stage = position_.stage;
    hw::barrier_wait(ring_.empty(stage), position_.parity ^ 1);
    load_weights(stage);
    load_image(stage);
    --k_tiles_left_;
    position_.advance();
    return true;
  }

 private:
  static constexpr u32 kWeightTiles = weight_tiles(kConfig);
  static constexpr u32 kWeightBytes =
      kConfig.weight_rows / kSubTileRows * (kSubTileCodeBytes + kSubTileScaleBytes);
  // Whose weights are asked for before there are images. More of them would arrive no sooner than
  // they are needed, and hold up what makes the images meanwhile.
  static constexpr u32 kEarlyStages = kConfig.stages < 4 ? kConfig.stages : 4;

  THRESHER_DEVICE void wait_for_images() const {
    if constexpr (kConfig.prologue == Prologue::kInside) {
      ImageShares<kConfig>(args_, ring_).wait();
    } else {
      hw::wait_for_previous_kernel();
    }
  }

  // The first copy into a stage says how much comes in all.
  THRESHER_DEVICE void load_weights(u32 stage) {
    hw::barrier_arrive_expect(ring_.full(stage), image_bytes_ + kWeightBytes);
    if constexpr (has_half_tile(kConfig)) {
      load_tile_and_half(stage);
    } else {
      load_tiles(stage);
    }
  }

  THRESHER_DEVICE void load_tiles(u32 stage) {
    THRESHER_UNROLL
    for (u32 i = 0; i < kWeightTiles; ++i) {
      load(stage, i * kTileBytes, weights_[i], kTileBytes);
      weights_[i] += kTileBytes;
    }
  }

  // Tile after tile, one begins with a whole tile of weights and the next with a half.
  THRESHER_DEVICE void load_tile_and_half(u32 stage) {
    const u32 whole = half_first_ * kTileBytes;
    const u32 half = kTileBytes - whole;
    const u32 codes = half_first_ * kSubTileCodeBytes;
    const u32 scales = kTileCodeBytes + half_first_ * kSubTileScaleBytes;
    load(stage, whole, weights_[0], kTileBytes);
    load(stage, half + codes, weights_[1] + codes, kSubTileCodeBytes);
    load(stage, half + scales, weights_[1] + scales, kSubTileScaleBytes);
    weights_[0] += kTileBytes;
    weights_[1] += kTileBytes;
  }

  THRESHER_DEVICE void load(u32 stage, u32 at, const u8* weights, u32 bytes) const {
    hw::copy_once_to_shared(ring_.weights(stage) + at, weights, bytes, ring_.full(stage));
  }

  THRESHER_DEVICE void load_image(u32 stage) {
    hw::copy_to_shared(ring_.image(stage), image_, image_bytes_, ring_.full(stage));
    image_ += image_bytes_;
  }

  THRESHER_DEVICE void start_tile() {
    const Tile& tile = walk_.tile();
    const auto& group = walk_.group();
    k_tiles_left_ = tile.k_tile_count;
    image_bytes_ = image_bytes(tile.width);
    image_ = args_.images + group.tile_image_byte(tile.first_token) +
             static_cast<u64>(tile.first_k_tile) * image_bytes_;

    // Where the rows end before the block's tile does, the last weights are loaded again; nobody
    // stores what comes of them.
    constexpr u32 kColumns = kTileRows / rows_per_column(kConfig.product);
    const u32 last = divide_up(group.n, kColumns) - 1;
    const auto* weights = reinterpret_cast<const u8*>(hw::load_global(&group.entry().weights));
    THRESHER_UNROLL
    for (u32 i = 0; i < kWeightTiles; ++i) {
      const u32 asked = weight_tile_asked(tile.row_tile, i);
      const u32 row_tile = asked < last ? asked : last;
      const u64 weight_tile = static_cast<u64>(row_tile) * group.k_tile_count + tile.first_k_tile;
      weights_[i] = weights + weight_tile * kTileBytes;
    }
  }

  // The tile of weights that weights_[i] is of; where there is half a one, that is the last of
  // them.
  THRESHER_DEVICE u32 weight_tile_asked(u32 row_tile, u32 i) {
    if constexpr (has_half_tile(kConfig)) {
      half_first_ = row_tile % 2;
      const u32 first = row_tile * (kConfig.weight_rows / kSubTileRows) / kSubTilesPerTile;
      return first + (half_first_ ^ i);
    }
    return row_tile * kWeightTiles + i;
  }

  const GemmArgs& args_;
  WalkOf<kConfig, Walker::kThread> walk_;
  const StageRing<kConfig>& ring_;
  RingPosition<kConfig.stages> position_;
  u32 k_tiles_left_ = 0;
  u32 half_first_ = 0;  // of 192 rows: whether they begin in the middle of a tile of weights
  u32 image_bytes_ = 0;
  const u8* image_ = nullptr;
  const u8* weights_[kWeightTiles] = {};
};

}  // namespace thresher::gpu::sm90
