// SPDX-License-Identifier: Apache-2.0
// The kernel that measures what tensor cores reach when warps multiply: every warp keeps its
// operands in registers and multiplies them over and over.
#pragma once

#include "gpu/gemm/kernels/ceilings.cuh"
#include "gpu/hw/hw.cuh"
#include "gpu/sm80/kernels/ceilings_args.hpp"

namespace thresher::gpu::sm80 {

template <hw::Operand kOperand>
THRESHER_DEVICE void multiply_ceiling_kernel(const MultiplyCeilingArgs& args) {
  constexpr u32 kPairs = 4 + 2 * kMultiplyOctets;  // that a thread holds
  const u32 first = static_cast<u32>(hw::thread_index()) * kPairs;
  u32 a[4];
  u32 b[kMultiplyOctets][2];
  float sums[4 * kMultiplyOctets];
  THRESHER_UNROLL
  for (u32 i = 0; i < 4; ++i) a[i] = operand_pair<kOperand>(first + i);
  THRESHER_UNROLL
  for (u32 i = 0; i < 2 * kMultiplyOctets; ++i) {
    b[i / 2][i % 2] = operand_pair<kOperand>(first + 4 + i);
  }
  THRESHER_UNROLL
  for (u32 i = 0; i < 4 * kMultiplyOctets; ++i) sums[i] = 0.0f;
  for (u32 pass = 0; pass < args.pass_count; ++pass) {
    THRESHER_UNROLL
    for (int step = 0; step < kMultiplySteps; ++step) {
      THRESHER_UNROLL
      for (int octet = 0; octet < kMultiplyOctets; ++octet) {
        hw::mma_warp<kOperand>(&sums[4 * octet], a, b[octet]);
      }
    }
  }
  float total = 0.0f;
  THRESHER_UNROLL
  for (u32 i = 0; i < 4 * kMultiplyOctets; ++i) total += sums[i];
  hw::store_global(args.sums + hw::block_index() * kMultiplyThreads + hw::thread_index(), total);
}

}  // namespace thresher::gpu::sm80
