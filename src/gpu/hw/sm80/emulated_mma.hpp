// SPDX-License-Identifier: Apache-2.0
// What every GPU since Ampere has, as the emulator speaks it: asynchronous copies by thread, and
// MMAs by warp, which are done when they return.
#pragma once

#include "gpu/hw/emulated_site.hpp"
#include "gpu/hw/words.hpp"

namespace thresher::gpu::hw {

// A piece is 16 aligned bytes. A thread's copies of pieces from global to shared memory are
// asynchronous and form groups; wait: all but the last kPending groups are complete, to the thread
// that says it. Others may read them behind a barrier that follows. Where `exists` is false nothing
// is read, and the piece becomes zeros. A thread must have waited for all of them when it ends.
void copy_piece(SharedAddress destination, const void* source, bool exists = true);
// The same for what need not stay in the L2 afterwards.
inline void copy_piece_once(SharedAddress destination, const void* source) {
  copy_piece(destination, source);
}
void pieces_commit(Site site = Site::here());
void pieces_wait_groups(int pending, const Site& site);
template <int kPending>
void pieces_wait(Site site = Site::here()) {
  pieces_wait_groups(kPending, site);
}

// A warp together loads four 8 x 8 matrices of 16-bit values, as store_matrix_x4 stores them: lane
// 8*i + r gives the address of row r of matrix i.
void load_matrix_x4(SharedAddress row, u32 (&m)[4]);

// A warp together: D (16 x 8, float) += A (16 x 16) * B (16 x 8). Lane l holds, with r = l/4 and
// c = 2*(l%4): of D (r, c), (r, c+1), (r+8, c), (r+8, c+1); of A, as pairs along k, (r, c),
// (r+8, c), (r, c+8), (r+8, c+8); of B, likewise, (c, r), (c+8, r).
void mma_warp_add(Operand operand, float* d, const u32* a, const u32* b);
template <Operand kOperand>
void mma_warp(float* d, const u32 (&a)[4], const u32* b) {
  mma_warp_add(kOperand, d, a, b);
}

}  // namespace thresher::gpu::hw
