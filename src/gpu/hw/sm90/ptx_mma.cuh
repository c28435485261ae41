// SPDX-License-Identifier: Apache-2.0
// wgmma: a warpgroup multiplies 64 x 16 by 16 x kColumns asynchronously.
#pragma once

#include "gpu/hw/sm90/ptx_mma_widths.cuh"
#include "gpu/hw/words.hpp"

namespace thresher::gpu::hw {

THRESHER_DEVICE void mma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

THRESHER_DEVICE void mma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

template <int kPending>
THRESHER_DEVICE void mma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

template <int kCount>
THRESHER_DEVICE void hide(float (&sums)[kCount]) {
  THRESHER_UNROLL
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}

template <int kColumns, Operand kOperand>
THRESHER_DEVICE void mma(float (&d)[kColumns / 2], const u32 (&a)[4], u64 b_descriptor, bool add) {
  MmaInstruction<kColumns, kOperand>::issue(d, a, b_descriptor, add ? 1u : 0u);
}

template <int kColumns, Operand kOperand>
THRESHER_DEVICE void mma(float (&d)[kColumns / 2], u64 a_descriptor, u64 b_descriptor, bool add) {
  MmaInstruction<kColumns, kOperand>::issue(d, a_descriptor, b_descriptor, add ? 1u : 0u);
}

}  // namespace thresher::gpu::hw
