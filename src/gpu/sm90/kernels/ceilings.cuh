// SPDX-License-Identifier: Apache-2.0
// The kernel that measures what tensor cores reach when warpgroups multiply from shared memory.
#pragma once

#include "gpu/gemm/kernels/ceilings.cuh"
#include "gpu/gemm/kernels/stage_ring.cuh"
#include "gpu/hw/hw.cuh"
#include "gpu/sm90/kernels/ceilings_args.hpp"

namespace thresher::gpu::sm90 {

// Shared memory holds tile after tile the rows of both warpgroups and then the columns.
template <hw::Operand kOperand>
THRESHER_DEVICE void make_operands(hw::SharedAddress base) {
  for (u32 at = static_cast<u32>(hw::thread_index()) * 4; at < kMultiplySharedBytes;
       at += kMultiplyThreads * 4) {
    hw::store_shared(base + at, operand_pair<kOperand>(at / 4));
  }
  hw::fence_async();
  hw::sync_block();
}

template <hw::Operand kOperand>
THRESHER_DEVICE void add_pass(hw::SharedAddress base, float (&sums)[kMultiplyColumns / 2]) {
  const u32 warpgroup = static_cast<u32>(hw::thread_index() / hw::kWarpgroupThreads);
  hw::mma_fence();
  THRESHER_UNROLL
  for (int tile = 0; tile < kMultiplyTiles; ++tile) {
    const hw::SharedAddress rows = base + static_cast<u32>(tile) * kMultiplyTileBytes;
    const u64 a = image_descriptor(rows + warpgroup * kSubTileRows * kImageRowBytes);
    const u64 b = image_descriptor(rows + kMultiplyRows * kImageRowBytes);
    THRESHER_UNROLL
    for (int step = 0; step < kStepsPerTile; ++step) {
      const u64 along_k = static_cast<u64>(step) * kDescriptorStep;
      hw::mma<kMultiplyColumns, kOperand>(sums, a + along_k, b + along_k, true);
    }
  }
  hw::mma_commit();
}

template <hw::Operand kOperand>
THRESHER_DEVICE void multiply_ceiling_kernel(const MultiplyCeilingArgs& args) {
  const hw::SharedAddress base = hw::shared_base();
  make_operands<kOperand>(base);
  float sums[kMultiplyColumns / 2];
  THRESHER_UNROLL
  for (int i = 0; i < kMultiplyColumns / 2; ++i) sums[i] = 0.0f;
  hw::hide(sums);
  // One pass is always in flight while the next is issued: the tensor cores never wait.
  for (u32 pass = 0; pass < args.pass_count; ++pass) {
    add_pass<kOperand>(base, sums);
    hw::mma_wait<1>();
  }
  hw::mma_wait<0>();
  hw::hide(sums);
  float total = 0.0f;
  THRESHER_UNROLL
  for (int i = 0; i < kMultiplyColumns / 2; ++i) total += sums[i];
  hw::store_global(args.sums + hw::block_index() * kMultiplyThreads + hw::thread_index(), total);
}

}  // namespace thresher::gpu::sm90
