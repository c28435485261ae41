// SPDX-License-Identifier: Apache-2.0
// One thread issues the MMAs of all tiles: it waits for a stage, has its scales copied to tensor
// memory, multiplies 64 deep at a time, and commits, which hands the stage back. The width of a
// tile is a number in the instruction's descriptor, so one loop serves all of them.
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
    while (walk_.next()) multiply_tile();
  }

 private:
  using Ring = TensorRing<kConfig>;

  THRESHER_DEVICE void multiply_tile() {
    const u32 buffer = sums_.stage;
    // The fence behind the first stage's barrier counts for these sums too.
    hw::barrier_wait(ring_.sums_empty(buffer), sums_.parity ^ 1);
    width_ = walk_.tile().width;
    u32 steps_left = divide_up(walk_.group().k, u32{hw::kBlockScaledK});
    bool add = false;
    THRESHER_NO_UNROLL
    while (steps_left > 0) {
      const u32 steps = steps_left < kStepsPerTile ? steps_left : kStepsPerTile;
      multiply_stage(buffer, steps, add);
      steps_left -= steps;
      add = true;
    }
    hw::tensor_commit(ring_.sums_full(buffer));
    sums_.advance();
  }

  THRESHER_DEVICE void multiply_stage(u32 buffer, u32 steps, bool add) {
    const u32 stage = position_.stage;
    hw::barrier_wait(ring_.full(stage), position_.parity);
    hw::tensor_fence_after();
    THRESHER_NO_UNROLL
    for (u32 step = 0; step < steps; ++step) {
      copy_scales(stage, step);
      THRESHER_UNROLL
      for (u32 product = 0; product < Ring::kProducts; ++product) {
        multiply_step(stage, step, product, buffer, add || step > 0);
      }
    }
    hw::tensor_commit(ring_.empty(stage));
    position_.advance();
  }

  THRESHER_DEVICE void copy_scales(u32 stage, u32 step) const {
    constexpr u32 kRowBlocks = token_row_blocks(kConfig);
    const auto copy = [this](u32 column, hw::SharedAddress from) {
      hw::tensor_copy_scales(tensor_ + column,
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
    hw::tensor_multiply(
        {.sums = tensor_ + Ring::sums(buffer, product),
         .a = codes(ring_.weights(stage) + product * kTileBytes),
         .b = codes(ring_.tokens(stage)),
         .instruction = hw::block_scaled_instruction(width_),
         .a_scales = tensor_ + Ring::a_scales(stage, product) + step * hw::kScaleColumns,
         .b_scales = tensor_ + Ring::b_scales(stage) + step * kRowBlocks * hw::kScaleColumns,
         .add = add});
  }

  const Ring& ring_;
  sm90::WalkOf<kConfig, sm90::Walker::kThread> walk_;
  const hw::TensorAddress tensor_;
  StagePosition<kConfig> position_;
  SumsPosition<kConfig> sums_;
  u32 width_ = 0;
};

}  // namespace thresher::gpu::sm100
