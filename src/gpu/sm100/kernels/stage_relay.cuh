// SPDX-License-Identifier: Apache-2.0
// In the block of a pair that does not lead, one thread tells the leader of every stage that is
// full here: a bulk copy can only tell a barrier of the block that it brings something to.
#pragma once

#include "gpu/hw/hw.cuh"
#include "gpu/sm100/kernels/tensor_ring.cuh"

namespace thresher::gpu::sm100 {

template <GemmConfig kConfig>
class StageRelay {
 public:
  THRESHER_DEVICE StageRelay(const GemmArgs& args, const TensorRing<kConfig>& ring)
      : ring_(ring), walk_(args, ring.book()) {}

  THRESHER_DEVICE void run() {
    while (walk_.next()) {
      THRESHER_NO_UNROLL
      for (u32 i = walk_.tile().k_tile_count; i > 0; --i) pass_on();
    }
  }

 private:
  THRESHER_DEVICE void pass_on() {
    const hw::SharedAddress full = ring_.full(position_.stage);
    hw::barrier_wait<TensorRing<kConfig>::kBlocks>(full, position_.parity);
    hw::barrier_arrive_cluster(hw::cluster_address(full, 0));
    position_.advance();
  }

  const TensorRing<kConfig>& ring_;
  WalkOf<kConfig, Walker::kThread> walk_;
  StagePosition<kConfig> position_;
};

}  // namespace thresher::gpu::sm100
