// SPDX-License-Identifier: Apache-2.0
// The kernel that measures what tensor cores reach with NVFP4: one thread of every block multiplies
// the same two tiles over and over, and nobody waits before the last time. Emulated and compiled;
// never run on a Blackwell.
#pragma once

#include "gpu/gemm/kernels/ceilings.cuh"
#include "gpu/hw/hw.cuh"
#include "gpu/sm100/kernels/ceilings_args.hpp"

namespace thresher::gpu::sm100 {

// Of sums, then of both sides' scales for all steps.
inline constexpr u32 kCeilingRowScales = kMultiplyColumns;
inline constexpr u32 kCeilingColumnScales = kCeilingRowScales + kStepsPerTile * hw::kScaleColumns;
inline constexpr u32 kCeilingRowBlocks = kMultiplyColumns / kTileRows;
static_assert(kCeilingColumnScales + kStepsPerTile * kCeilingRowBlocks * hw::kScaleColumns <=
              hw::kTensorColumns);

// Any codes, and scales from one to two: sums stay finite however long it takes.
THRESHER_DEVICE u32 ceiling_word(u32 at) {
  const bool of_columns = at >= kMultiplyColumnCodes;
  const bool is_scale = of_columns ? at >= kMultiplyColumnScales : at >= kMultiplyRowScales;
  const u32 any = scramble(at);
  return is_scale ? 0x38383838u | (any & 0x07070707u) : any;
}

THRESHER_DEVICE void make_tiles(hw::SharedAddress base) {
  constexpr u32 kThreads = kMultiplyThreads;
  for (u32 at = static_cast<u32>(hw::thread_index()) * 4; at < kMultiplyBarrier;
       at += kThreads * 4) {
    hw::store_shared(base + at, ceiling_word(at));
  }
  hw::fence_async();
}

THRESHER_DEVICE void copy_ceiling_scales(hw::SharedAddress base, hw::TensorAddress tensor) {
  const auto copy = [=](u32 column, u32 from, u32 blocks) {
    for (u32 block = 0; block < blocks; ++block) {
      hw::tensor_copy_scales(
          tensor + column + block * hw::kScaleColumns,
          hw::tensor_descriptor(base + from + block * hw::kScaleBytes, 128, hw::Swizzle::kNone));
    }
  };
  copy(kCeilingRowScales, kMultiplyRowScales, kStepsPerTile);
  copy(kCeilingColumnScales, kMultiplyColumnScales, kStepsPerTile * kCeilingRowBlocks);
}

THRESHER_DEVICE void multiply_tiles(hw::SharedAddress base, hw::TensorAddress tensor, bool add) {
  const auto codes = [=](u32 tile, u32 step) {
    return hw::tensor_descriptor(base + tile + step * (hw::kBlockScaledK / 2), 8 * kCodeRowBytes,
                                 hw::Swizzle::k128);
  };
  THRESHER_UNROLL
  for (u32 step = 0; step < kStepsPerTile; ++step) {
    hw::tensor_multiply(
        {.sums = tensor,
         .a = codes(0, step),
         .b = codes(kMultiplyColumnCodes, step),
         .instruction = hw::block_scaled_instruction(kMultiplyColumns),
         .a_scales = tensor + kCeilingRowScales + step * hw::kScaleColumns,
         .b_scales = tensor + kCeilingColumnScales + step * kCeilingRowBlocks * hw::kScaleColumns,
         .add = add || step > 0});
  }
}

// A warp takes the lanes of its number modulo 4, the second four warps the second half of columns.
THRESHER_DEVICE float sum_of_columns(hw::TensorAddress tensor) {
  constexpr int kColumns = 32;
  constexpr u32 kHalf = kMultiplyColumns / 2;
  const u32 warp = static_cast<u32>(hw::warp_index());
  const u32 first = warp / 4 * kHalf;
  float total = 0.0f;
  THRESHER_NO_UNROLL
  for (u32 column = first; column < first + kHalf; column += kColumns) {
    float sums[kColumns];
    hw::tensor_load(tensor + hw::tensor_address(warp % 4 * hw::kLanesPerWarp, column), sums);
    hw::tensor_wait_loads(sums);
    THRESHER_UNROLL
    for (int i = 0; i < kColumns; ++i) total += sums[i];
  }
  return total;
}

THRESHER_DEVICE void multiply_passes(hw::SharedAddress base, hw::TensorAddress tensor,
                                     u32 pass_count) {
  copy_ceiling_scales(base, tensor);
  THRESHER_NO_UNROLL
  for (u32 pass = 0; pass < pass_count; ++pass) multiply_tiles(base, tensor, pass > 0);
  hw::tensor_commit(base + kMultiplyBarrier);
}

THRESHER_DEVICE void multiply_ceiling_kernel(const MultiplyCeilingArgs& args) {
  const hw::SharedAddress base = hw::shared_base();
  const int warp = hw::warp_index();
  make_tiles(base);
  if (hw::thread_index() == 0) {
    hw::barrier_init(base + kMultiplyBarrier, 1);
    hw::barrier_init_fence();
  }
  if (warp == 1) hw::tensor_allocate(base + kMultiplySlot, hw::kTensorColumns);
  hw::sync_block();
  const hw::TensorAddress tensor = hw::load_shared<u32>(base + kMultiplySlot);
  if (warp == 0) {
    if (hw::elect_one()) multiply_passes(base, tensor, args.pass_count);
    hw::sync_warp();
  }
  hw::barrier_wait(base + kMultiplyBarrier, 0);
  hw::tensor_fence_after();
  const float total = sum_of_columns(tensor);
  hw::store_global(args.sums + hw::block_index() * kMultiplyThreads + hw::thread_index(), total);
  hw::tensor_fence_before();
  hw::sync_block();
  if (warp != 1) return;
  hw::tensor_fence_after();
  hw::tensor_free(tensor, hw::kTensorColumns);
}

}  // namespace thresher::gpu::sm100
