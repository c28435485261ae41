// SPDX-License-Identifier: Apache-2.0
// wgmma as the emulator speaks it: a warpgroup together multiplies asynchronously.
//
// D (64 x kColumns, float) = or += A (64 x 16) * B (16 x kColumns). Thread t holds, for j below
// kColumns / 8, in d[4j..4j+3]: (r, c), (r, c+1), (r+8, c), (r+8, c+1), where
// r = 16*(t/32) + (t%32)/4 and c = 8*j + 2*(t%4); and of A, as pairs along k, in a[0..3]: (r, k),
// (r+8, k), (r, k+8), (r+8, k+8), where k = 2*(t%4).
#pragma once

#include "gpu/hw/emulated_site.hpp"
#include "gpu/hw/words.hpp"

namespace thresher::gpu::hw {

// Before the first MMA, and between writing registers (sums or A) and an MMA that uses them.
void mma_fence(Site site = Site::here());
void mma_commit(Site site = Site::here());
void mma_wait_groups(int pending, const Site& site);
// All but the last kPending groups are complete: only then may their sums be read and their A
// registers be written, and the shared memory they read be reused.
template <int kPending>
void mma_wait(Site site = Site::here()) {
  mma_wait_groups(kPending, site);
}

// hide() for the sums of MMAs, which run beside the program without the compiler knowing it: no use
// of the sums moves across this place.
template <int kCount>
void hide(float (&)[kCount]) {}

struct MmaShape {
  int columns;
  Operand operand;
};
void mma_from_registers(MmaShape shape, float* d, const u32* a, u64 b_descriptor, bool add);
void mma_from_shared(MmaShape shape, float* d, u64 a_descriptor, u64 b_descriptor, bool add);

// `a` and `d` must stay alive and untouched until mma_wait covers the MMA.
template <int kColumns, Operand kOperand>
void mma(float (&d)[kColumns / 2], const u32 (&a)[4], u64 b_descriptor, bool add) {
  static_assert(kColumns % 8 == 0 && kColumns >= 8 && kColumns <= 256);
  mma_from_registers({kColumns, kOperand}, d, a, b_descriptor, add);
}

template <int kColumns, Operand kOperand>
void mma(float (&d)[kColumns / 2], u64 a_descriptor, u64 b_descriptor, bool add) {
  static_assert(kColumns % 8 == 0 && kColumns >= 8 && kColumns <= 256);
  mma_from_shared({kColumns, kOperand}, d, a_descriptor, b_descriptor, add);
}

}  // namespace thresher::gpu::hw
