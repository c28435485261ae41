// SPDX-License-Identifier: Apache-2.0
// The ring of stages in shared memory between loads and MMAs: who may touch a stage when.
//
// A stage is full when its loads have arrived, and empty when every consumer warp has let go of it.
// Loader and consumers each go round the ring with a position of their own.
#pragma once

#include "gpu/gemm/kernels/gemm_config.hpp"
#include "gpu/gemm/kernels/group_book.cuh"
#include "gpu/hw/hw.cuh"

namespace thresher::gpu {

// The thread's index and its warpgroup's, but the compiler cannot know that they are the same every
// time: from the real ones it works out addresses before the main loop and keeps them in registers
// all through it. A warpgroup comes from a shuffle, which hides it as well and says that it is one
// for the whole warp.
THRESHER_DEVICE int hidden_thread() {
  u32 thread = static_cast<u32>(hw::thread_index());
  hw::hide(thread);
  return static_cast<int>(thread);
}
template <typename Index>
THRESHER_DEVICE Index hidden_warpgroup() {
  return hw::broadcast(static_cast<Index>(hw::thread_index()) / hw::kWarpgroupThreads);
}

template <GemmConfig kConfig>
struct StageRing {
  static constexpr SharedLayout kLayout = shared_layout(kConfig);
  // That make a stage empty.
  static constexpr int kArrivals = kConfig.arrive == Arrive::kThread
                                       ? consumer_threads(kConfig)
                                       : consumer_threads(kConfig) / hw::kWarpThreads;

  hw::SharedAddress base;
  bool elected;  // one lane of every warp; asked once, not in every round of the main loop

  THRESHER_DEVICE explicit StageRing(hw::SharedAddress shared)
      : base(shared), elected(hw::elect_one()) {
    hw::hide(base);  // likewise
  }

  THRESHER_DEVICE hw::SharedAddress image(u32 stage) const {
    return base + kLayout.images + stage * image_bytes(kConfig.tokens);
  }
  THRESHER_DEVICE hw::SharedAddress weights(u32 stage) const {
    return base + kLayout.weights + stage * kLayout.weight_stage_bytes;
  }
  THRESHER_DEVICE hw::SharedAddress full(u32 stage) const {
    return base + kLayout.full + 8 * stage;
  }
  THRESHER_DEVICE hw::SharedAddress empty(u32 stage) const {
    return base + kLayout.empty + 8 * stage;
  }

  THRESHER_DEVICE GroupBook book() const { return {base + kLayout.book}; }

  // By one thread, before anything else; the block must then meet.
  THRESHER_DEVICE void init() const {
    for (u32 stage = 0; stage < kConfig.stages; ++stage) {
      hw::barrier_init(full(stage), 1);
      hw::barrier_init(empty(stage), kArrivals);
    }
    hw::barrier_init_fence();
  }

  // By a consumer's warp together: it has read the stage and its MMAs on it are complete.
  THRESHER_DEVICE void release(u32 stage) const {
    hw::sync_warp();
    if (kConfig.arrive == Arrive::kThread || elected) hw::barrier_arrive(empty(stage));
  }
};

// An image (tokens, or 64 rows of weights) as an operand: rows of 128 bytes in the 128-byte
// swizzle.
THRESHER_DEVICE u64 image_descriptor(hw::SharedAddress image) {
  return hw::descriptor(image, 16, 8 * kImageRowBytes, hw::Swizzle::k128);
}
// What one step (16 k) along an image's rows adds to its descriptor, which counts in 16 bytes.
inline constexpr u64 kDescriptorStep = kStepK * 2 / 16;

// A place in the ring. A barrier's parity flips every time round.
template <int kStages>
struct RingPosition {
  u32 stage = 0;
  u32 parity = 0;

  THRESHER_DEVICE void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

}  // namespace thresher::gpu
