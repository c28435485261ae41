// SPDX-License-Identifier: Apache-2.0
// The main loop of a consumer warpgroup: decode weights into registers while the tensor cores
// multiply those decoded before.
//
// There are two fragment buffers. While the MMAs on one are in flight, the other is decoded; only
// when it is full and its MMAs are issued does the warpgroup wait for those before them, which
// frees the first buffer and, at the end of a k tile, the stage.
#pragma once

#include "gpu/gemm/kernels/gemm_config.hpp"
#include "gpu/gemm/kernels/stage_ring.cuh"
#include "gpu/gemm/kernels/sums.cuh"
#include "gpu/gemm/kernels/weight_decode.cuh"
#include "gpu/hw/hw.cuh"

namespace thresher::gpu::sm90 {

template <GemmConfig kConfig>
class Multiply {
  static constexpr int kStrips = strips_per_warpgroup(kConfig);
  static constexpr int kSteps = kConfig.fragment_steps;
  static constexpr int kChunks = kStepsPerTile / kSteps;
  static constexpr hw::Operand kOperand = operand_of(kConfig.activations);

  using Packed = PackedStrip<kConfig.product>;
  struct Buffer {
    u32 a[kStrips][kSteps][4];
  };

 public:
  THRESHER_DEVICE explicit Multiply(const StageRing<kConfig>& ring)
      : ring_(ring),
        place_(hw::thread_index() / hw::kWarpgroupThreads * kStrips * Packed::kSubTiles,
               hw::thread_index() % hw::kWarpgroupThreads) {
    hide_place();
  }

  // Before a tile: rows that begin in the middle of a tile of weights lie elsewhere.
  THRESHER_DEVICE void begin(u32 row_tile) {
    if constexpr (has_half_tile(kConfig)) {
      place_ = PackedPlace(static_cast<int>(hidden_warpgroup<u32>() + row_tile % 2),
                           hidden_thread() % hw::kWarpgroupThreads);
      hide_place();
    }
  }

  // Sums over `k_tile_count` stages. `after_release` is called whenever a stage has been let go,
  // `before_last` once, while the last MMAs are still under way.
  template <int kWidth, typename AfterRelease, typename BeforeLast>
  THRESHER_DEVICE void run(u32 k_tile_count, Sums<kConfig, kWidth>& sums,
                           const AfterRelease& after_release, const BeforeLast& before_last) {
    set_to_zero<kConfig, kWidth>(sums);
    if (kConfig.split_k > 1 && k_tile_count == 0) return before_last();  // only such can be empty

    // Buffers take turns. A tile that needs a single one begins with the other than the tile before
    // it; two tiles per round make that known to the compiler.
    Buffer buffers[2];
    u32 left = k_tile_count;
    for (bool first = true;; first = false) {
      multiply_tile<kWidth>(first, buffers[0], buffers[1], sums, after_release);
      if (--left == 0) break;
      if constexpr (kChunks == 1) {
        multiply_tile<kWidth>(false, buffers[1], buffers[0], sums, after_release);
        if (--left == 0) break;
      }
    }
    before_last();
    hw::mma_wait<0>();
    THRESHER_UNROLL
    for (int strip = 0; strip < kStrips; ++strip) hw::hide(sums[strip]);
    ring_.release(previous_stage_);
    after_release();
  }

 private:
  // Or the main loop would work it out anew in every round.
  THRESHER_DEVICE void hide_place() {
    hw::hide(place_.codes);
    hw::hide(place_.scales);
  }

  template <int kWidth, typename AfterRelease>
  THRESHER_DEVICE void multiply_tile(bool first, Buffer& even, Buffer& odd,
                                     Sums<kConfig, kWidth>& sums,
                                     const AfterRelease& after_release) {
    const u32 stage = position_.stage;
    hw::barrier_wait(ring_.full(stage), position_.parity);
    Packed packed[kStrips];
    THRESHER_UNROLL
    for (int strip = 0; strip < kStrips; ++strip) {
      packed[strip] = Packed::load(ring_.weights(stage), place_, strip);
    }
    THRESHER_UNROLL
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      Buffer& buffer = chunk % 2 == 0 ? even : odd;
      decode(packed, chunk, buffer);
      hw::mma_fence();
      issue<kWidth>(stage, chunk, buffer, sums);
      hw::mma_commit();
      hw::mma_wait<1>();
      if (chunk == 0 && !first) {
        ring_.release(previous_stage_);
        after_release();
      }
    }
    previous_stage_ = stage;
    position_.advance();
  }

  THRESHER_DEVICE void decode(const Packed (&packed)[kStrips], int chunk, Buffer& buffer) const {
    THRESHER_UNROLL
    for (int i = 0; i < kSteps; ++i) {
      THRESHER_UNROLL
      for (int strip = 0; strip < kStrips; ++strip) {
        packed[strip].template decode<kOperand>(chunk * kSteps + i, buffer.a[strip][i]);
      }
    }
  }

  // Adds the steps of a chunk to the sums.
  template <int kWidth>
  THRESHER_DEVICE void issue(u32 stage, int chunk, const Buffer& buffer,
                             Sums<kConfig, kWidth>& sums) const {
    const u64 image = image_descriptor(ring_.image(stage));
    THRESHER_UNROLL
    for (int i = 0; i < kSteps; ++i) {
      const u64 tokens = image + static_cast<u64>(chunk * kSteps + i) * kDescriptorStep;
      THRESHER_UNROLL
      for (int strip = 0; strip < kStrips; ++strip) {
        hw::mma<kWidth, kOperand>(sums[strip], buffer.a[strip][i], tokens, true);
      }
    }
  }

  const StageRing<kConfig>& ring_;
  PackedPlace place_;
  RingPosition<kConfig.stages> position_;
  u32 previous_stage_ = 0;
};

}  // namespace thresher::gpu::sm90
