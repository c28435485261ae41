// SPDX-License-Identifier: Apache-2.0
// The kernel that measures how fast a GPU reads, and what those that only multiply (of every
// architecture its own) have in common.
//
// They leave sums behind, so that no compiler can drop their work and the host can tell that it was
// done.
#pragma once

#include "gpu/gemm/kernels/ceilings_args.hpp"
#include "gpu/hw/hw.cuh"

namespace thresher::gpu {

THRESHER_DEVICE u32 sum_of_warp(u32 value) {
  THRESHER_UNROLL
  for (int mask = hw::kWarpThreads / 2; mask > 0; mask /= 2) value += hw::shuffle_xor(value, mask);
  return value;
}

// Chunks are dealt to the blocks in turn; a thread has all its loads of a chunk under way at once.
THRESHER_DEVICE void read_ceiling_kernel(const ReadCeilingArgs& args) {
  u32 sum = 0;
  for (u64 chunk = static_cast<u64>(hw::block_index()); chunk < args.chunk_count;
       chunk += static_cast<u64>(hw::block_count())) {
    const U32x4* first = args.data + chunk * (kReadChunkBytes / 16) + hw::thread_index();
    U32x4 words[kReadsInFlight];
    THRESHER_UNROLL
    for (int i = 0; i < kReadsInFlight; ++i) {
      words[i] = hw::load_global(first + i * kReadThreads);
    }
    THRESHER_UNROLL
    for (int i = 0; i < kReadsInFlight; ++i) {
      sum += words[i].x + words[i].y + words[i].z + words[i].w;
    }
  }
  sum = sum_of_warp(sum);
  if (hw::lane_index() == 0) hw::atomic_add(args.sum, sum);
}

// Any number to 32 bits without visible order.
THRESHER_DEVICE u32 scramble(u32 value) {
  constexpr u32 kGoldenRatio = 0x9e3779b1;
  value = (value ^ value >> 16) * kGoldenRatio;
  return (value ^ value >> 15) * kGoldenRatio;
}

// Numbers that look normally distributed (sums of four uniform ones) and fill every bit of a 16-bit
// mantissa. A GPU that multiplies zeros or round numbers draws less power and keeps a higher clock
// than with anybody's data.
THRESHER_DEVICE float bell_shaped(u32 index) {
  constexpr i32 kMiddle = 4 * 0xffff / 2;
  const u32 a = scramble(2 * index);
  const u32 b = scramble(2 * index + 1);
  const u32 sum = (a & 0xffff) + (a >> 16) + (b & 0xffff) + (b >> 16);
  return static_cast<float>(static_cast<i32>(sum) - kMiddle) * 0x1p-15f;
}

template <hw::Operand kOperand>
THRESHER_DEVICE u32 operand_pair(u32 pair_index) {
  const float low = bell_shaped(2 * pair_index);
  const float high = bell_shaped(2 * pair_index + 1);
  if constexpr (kOperand == hw::Operand::kFp16) {
    return hw::pack_fp16x2(low, high);
  } else {
    return hw::pack_bf16x2(low, high);
  }
}

}  // namespace thresher::gpu
