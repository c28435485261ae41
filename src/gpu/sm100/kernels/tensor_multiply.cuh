// SPDX-License-Identifier: Apache-2.0
// One thread issues the MMAs of all tiles: it waits for a stage, has its scales copied to tensor
// memory, multiplies 64 deep at a time, and commits, which hands the stage back. The width of a
// tile is a number in the instruction's descriptor, so one loop serves all of them. Of a pair of
// blocks the leader issues for both.
#pragma once

#include "gpu/hw/hw.cuh"
#include "gpu/sm100/kernels/tensor_ring.cuh"

namespace thresher::gpu::sm100 {

template <GemmConfig kConfig>
class TensorMultiply {
 public:
  THRESHER_DEVICE TensorMultiply(const GemmArgs& args, const TensorRing<kConfig>& ring,
                                 hw::TensorAddress tensor)
      : ring_(ring), walk_(args, ring.book()), tensor_(tensor) {}

  THRESHER_DEVICE void run() {
    while (walk_.next()) {
      if (walk_.tile().k_tile_count > 0) multiply_tile();
    }
  }

 private:
  using Ring = TensorRing<kConfig>;
  static constexpr int kBlocks = Ring::kBlocks;
  static constexpr int kMmaBlocks = Ring::kMmaBlocks;

  THRESHER_DEVICE void multiply_tile() {
    const u32 buffer = sums_.stage;
    // The fence behind the first stage's barrier counts for these sums too.
    hw::barrier_wait<kBlocks>(ring_.sums_empty(buffer), sums_.parity ^ 1);
    width_ = Ring::width(walk_.tile());
    u32 steps_left = steps_of(walk_.tile());
    bool add = false;
    THRESHER_NO_UNROLL
    while (steps_left > 0) {
      const u32 steps = steps_left < kStepsPerTile ? steps_left : kStepsPerTile;
      multiply_stage(buffer, steps, add);
      steps_left -= steps;
      add = true;
    }
    hw::tensor_commit<kMmaBlocks>(ring_.sums_full(buffer));
    sums_.advance();
  }

  // Of 64 k: those that there are of the tile's, or its part's.
  THRESHER_DEVICE u32 steps_of(const Tile& tile) const {
    const u32 in_row = divide_up(walk_.group().k, u32{hw::kBlockScaledK});
    const u32 left = in_row - tile.first_k_tile * kStepsPerTile;
    const u32 most = tile.k_tile_count * kStepsPerTile;
    return left < most ? left : most;
  }

  THRESHER_DEVICE void multiply_stage(u32 buffer, u32 steps, bool add) {
    const u32 stage = position_.stage;
    hw::barrier_wait<kBlocks>(ring_.full(stage), position_.parity);
    hw::tensor_fence_after();
    THRESHER_NO_UNROLL
    for (u32 step = 0; step < steps; ++step) {
      copy_scales(stage, step);
      THRESHER_UNROLL
      for (u32 product = 0; product < Ring::kProducts; ++product) {
        multiply_step(stage, step, product, buffer, add || step > 0);
      }
    }
    free_stage(stage);
    position_.advance();
  }

  // Both blocks are told where one writes into the other's stage.
  THRESHER_DEVICE void free_stage(u32 stage) const {
    if constexpr (Ring::kShared) {
      hw::tensor_commit_to_blocks(ring_.empty(stage), Ring::kAllBlocks);
    } else {
      hw::tensor_commit<kMmaBlocks>(ring_.empty(stage));
    }
  }

  THRESHER_DEVICE void copy_scales(u32 stage, u32 step) const {
    constexpr u32 kRowBlocks = token_row_blocks(kConfig);
    const auto copy = [this](u32 column, hw::SharedAddress from) {
      hw::tensor_copy_scales<kMmaBlocks>(tensor_ + column,
                                         hw::tensor_descriptor(from, 128, hw::Swizzle::kNone));
    };
    THRESHER_UNROLL
    for (u32 product = 0; product < Ring::kProducts; ++product) {
      copy(Ring::a_scales(stage, product) + step * hw::kScaleColumns,
           ring_.weights(stage) + product * kTileBytes + kTileCodeBytes + step * hw::kScaleBytes);
    }
    THRESHER_UNROLL
    for (u32 block = 0; block < kRowBlocks; ++block) {
      if (block * 128 >= width_) continue;
      const u32 at = step * kRowBlocks + block;
      copy(Ring::b_scales(stage) + at * hw::kScaleColumns,
           ring_.token_scales(stage) + at * hw::kScaleBytes);
    }
  }

  THRESHER_DEVICE void multiply_step(u32 stage, u32 step, u32 product, u32 buffer, bool add) const {
    constexpr u32 kRowBlocks = token_row_blocks(kConfig);
    constexpr u32 kStepBytes = hw::kBlockScaledK / 2;
    const auto codes = [step](hw::SharedAddress tile) {
      return hw::tensor_descriptor(tile + step * kStepBytes, 8 * kCodeRowBytes, hw::Swizzle::k128);
    };
    hw::tensor_multiply<kMmaBlocks>(
        {.sums = tensor_ + Ring::sums(buffer, product),
         .a = codes(ring_.weights(stage) + product * kTileBytes),
         .b = codes(ring_.tokens(stage)),
         .instruction = hw::block_scaled_instruction(width_, kMmaBlocks * kTileRows),
         .a_scales = tensor_ + Ring::a_scales(stage, product) + step * hw::kScaleColumns,
         .b_scales = tensor_ + Ring::b_scales(stage) + step * kRowBlocks * hw::kScaleColumns,
         .add = add});
  }

  const Ring& ring_;
  WalkOf<kConfig, Walker::kThread> walk_;
  const hw::TensorAddress tensor_;
  StagePosition<kConfig> position_;
  SumsPosition<kConfig> sums_;
  u32 width_ = 0;
};

}  // namespace thresher::gpu::sm100
