// SPDX-License-Identifier: Apache-2.0
// One k tile: a warp decodes its rows' weights from shared memory into registers, loads the tokens
// eight at a time, and multiplies.
//
// The packed layout is Hopper's (weight_layout.hpp): the fragment that wgmma takes of a warp is
// that of a warp's own MMA, so a thread's 16 bytes are its fragments of 64 k here too, and sums lie
// as there. A warp has 16 rows of every strip; a matrix load of eight tokens serves all its strips.
#pragma once

#include "gpu/gemm/kernels/sums.cuh"
#include "gpu/gemm/kernels/weight_decode.cuh"
#include "gpu/hw/hw.cuh"
#include "gpu/sm80/kernels/stage_loader.cuh"

namespace thresher::gpu::sm80 {

template <GemmConfig kConfig>
class WarpMultiply {
 public:
  THRESHER_DEVICE explicit WarpMultiply(hw::SharedAddress shared)
      : shared_(shared),
        place_(hw::thread_index() / hw::kWarpgroupThreads * kStrips * Packed::kSubTiles,
               hw::thread_index() % hw::kWarpgroupThreads) {
    const u32 lane = static_cast<u32>(hw::lane_index());
    tokens_ = chunk_place(lane % 8, lane / 8);
    hw::hide(place_.codes);
    hw::hide(place_.scales);
    hw::hide(tokens_);
  }

  // Adds the next stage's 64 k.
  template <int kWidth>
  THRESHER_DEVICE void add(Sums<kConfig, kWidth>& sums) {
    const hw::SharedAddress weights =
        shared_ + kLayout.weights + stage_ * kLayout.weight_stage_bytes;
    const hw::SharedAddress image =
        shared_ + kLayout.images + image_index_ * image_bytes(kConfig.tokens);
    Packed packed[kStrips];
    THRESHER_UNROLL
    for (int strip = 0; strip < kStrips; ++strip) {
      packed[strip] = Packed::load(weights, place_, strip);
    }
    THRESHER_UNROLL
    for (int half = 0; half < 2; ++half) {
      u32 a[kStrips][2][4];
      THRESHER_UNROLL
      for (int strip = 0; strip < kStrips; ++strip) {
        packed[strip].template decode<kOperand>(2 * half, a[strip][0]);
        packed[strip].template decode<kOperand>(2 * half + 1, a[strip][1]);
      }
      // Four matrices are 32 k of eight tokens; half a row further all chunks have bit 2 flipped.
      add_half<kWidth>(image + (tokens_ ^ static_cast<u32>(64 * half)), a, sums);
    }
    stage_ = stage_ + 1 == kConfig.stages ? 0 : stage_ + 1;
    image_index_ = image_index_ + 1 == kImages ? 0 : image_index_ + 1;
  }

 private:
  using Packed = PackedStrip<kConfig.product>;
  static constexpr SharedLayout kLayout = shared_layout(kConfig);
  static constexpr int kStrips = strips_per_warpgroup(kConfig);
  static constexpr u32 kImages = static_cast<u32>(image_stages(kConfig));
  static constexpr hw::Operand kOperand = operand_of(kConfig.activations);

  template <int kWidth>
  THRESHER_DEVICE static void add_half(hw::SharedAddress tokens, const u32 (&a)[kStrips][2][4],
                                       Sums<kConfig, kWidth>& sums) {
    THRESHER_UNROLL
    for (int octet = 0; octet < kWidth / 8; ++octet) {
      u32 b[4];
      hw::load_matrix_x4(tokens + static_cast<u32>(octet) * 8 * kImageRowBytes, b);
      THRESHER_UNROLL
      for (int step = 0; step < 2; ++step) {
        THRESHER_UNROLL
        for (int strip = 0; strip < kStrips; ++strip) {
          hw::mma_warp<kOperand>(&sums[strip][4 * octet], a[strip][step], &b[2 * step]);
        }
      }
    }
  }

  const hw::SharedAddress shared_;
  PackedPlace place_;
  u32 tokens_ = 0;  // the row that the lane names, in an image
  u32 stage_ = 0;
  u32 image_index_ = 0;
};

}  // namespace thresher::gpu::sm80
