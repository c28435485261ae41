// SPDX-License-Identifier: Apache-2.0
// tcgen05 for pairs of blocks (cta_group::2) as the emulator speaks it. Blocks 2i and 2i + 1 of a
// cluster are a pair; its first leads. A kernel's words are all for pairs, or all for one block
// (emulated_tensor.hpp); loads, waits and fences are the same for both. Never run on a Blackwell.
//
// A thread of the leader issues for both blocks: each then reads its own shared memory, at the
// addresses that the word names, and its own tensor memory, in the columns that it names. So both
// must have what is read there, and the leader must know of it.
#pragma once

#include "gpu/hw/emulated_site.hpp"
#include "gpu/hw/sm100/emulated_tensor.hpp"

namespace thresher::gpu::hw {

// The template words are the pair's where kBlocks is 2, and those of emulated_tensor.hpp where it
// is 1.

// A warp of each block together, which must know that the other block has begun. Both name the same
// place and get the same columns. They give them back together too, when nobody uses them any more:
// who comes first may have to wait.
void tensor_allocate_pair(SharedAddress where, u32 columns);
void tensor_free_pair(TensorAddress first, u32 columns);
void tensor_allocate_no_more_pair(const Site& site);
template <int kBlocks>
void tensor_allocate(SharedAddress where, u32 columns) {
  if constexpr (kBlocks == 1) return tensor_allocate(where, columns);
  tensor_allocate_pair(where, columns);
}
template <int kBlocks>
void tensor_free(TensorAddress first, u32 columns) {
  if constexpr (kBlocks == 1) return tensor_free(first, columns);
  tensor_free_pair(first, columns);
}
template <int kBlocks>
void tensor_allocate_no_more(Site site = Site::here()) {
  if constexpr (kBlocks == 1) return tensor_allocate_no_more(site);
  tensor_allocate_no_more_pair(site);
}

// By one thread of the leader. Each block copies from its shared to its tensor memory.
void tensor_copy_scales_pair(TensorAddress destination, u64 descriptor);
template <int kBlocks>
void tensor_copy_scales(TensorAddress destination, u64 descriptor) {
  if constexpr (kBlocks == 1) return tensor_copy_scales(destination, descriptor);
  tensor_copy_scales_pair(destination, descriptor);
}

// Each block has half of the rows: of A, of the sums and of their scales. Of B each block has half
// of the rows, the leader the first; of B's scales, all.
// With 256 rows a block's 128 fill the lanes. With 128 its 64 do twice: the sums of the first half
// of the columns lie in lanes 0 to 63, those of the other in lanes 64 to 127 of the same columns of
// tensor memory; and B's scales likewise, where tensor_copy_scales_by_halves puts them.
void tensor_multiply_pair(const BlockScaledMma& mma);
template <int kBlocks>
void tensor_multiply(const BlockScaledMma& mma) {
  if constexpr (kBlocks == 1) return tensor_multiply(mma);
  tensor_multiply_pair(mma);
}

// By one thread of the leader, as tensor_copy_scales: twice kScaleBytes to kScaleColumns columns,
// the first half to the lanes of warps 0 and 1, the other to those of 2 and 3.
void tensor_copy_scales_by_halves(TensorAddress destination, u64 descriptor);

// An arrival at the barrier of this address in both blocks, once all copies and MMAs that the
// thread has issued so far are complete.
void tensor_commit_pair(SharedAddress barrier, const Site& site);
template <int kBlocks>
void tensor_commit(SharedAddress barrier, Site site = Site::here()) {
  if constexpr (kBlocks == 1) return tensor_commit(barrier, site);
  tensor_commit_pair(barrier, site);
}

}  // namespace thresher::gpu::hw
