// SPDX-License-Identifier: Apache-2.0
// tcgen05 as the emulator speaks it: MMAs that multiply NVFP4 as it is and leave their sums in
// tensor memory. For sm_100 alone, and one block at a time (cta_group::1; emulated_pair.hpp has
// pairs). Never run on a Blackwell: docs/blackwell.md says where each rule comes from.
//
// Tensor memory has 128 lanes and 512 columns of 32 bits. MMAs and copies of scales are one
// thread's words and asynchronous; a commit has a barrier told when all of the thread's words so
// far are complete. What a barrier tells counts for tensor memory only behind a
// tensor_fence_after.
#pragma once

#include "gpu/hw/emulated_site.hpp"
#include "gpu/hw/sm100/descriptors.hpp"

namespace thresher::gpu::hw {

// A warp together. The address of the first column goes to shared memory, 4 aligned bytes. A power
// of two from 32 to 512; everything must be freed before the block ends, by a warp that knows that
// nobody uses it any more.
void tensor_allocate(SharedAddress where, u32 columns);
void tensor_free(TensorAddress first, u32 columns);
// The block allocates nothing more, so that another one can.
void tensor_allocate_no_more(Site site = Site::here());

// Between a thread's words of tensor memory and a barrier that tells others of them, and between
// such a barrier and the thread's words that rely on it. A commit includes the first.
void tensor_fence_before(Site site = Site::here());
void tensor_fence_after(Site site = Site::here());

// By one thread: kScaleBytes of scales (no swizzle, groups of 8 rows 128 bytes apart) to
// kScaleColumns columns, in all four warps' lanes. The thread's MMAs behind it see them; a copy
// behind an MMA does not wait for it.
void tensor_copy_scales(TensorAddress destination, u64 descriptor);
// By one thread: sums = or += A * B^T, every 16 of k times both sides' scales. MMAs of one thread
// on the same sums and of the same shape follow each other.
void tensor_multiply(const BlockScaledMma& mma);
// By the thread that multiplies: one arrival at the barrier once all its copies and MMAs so far are
// complete.
void tensor_commit(SharedAddress barrier, Site site = Site::here());
// The same at the barrier of this address in every block of the cluster whose bit is set.
void tensor_commit_to_blocks(SharedAddress barrier, u32 blocks, Site site = Site::here());

// A warp together: lane l of its lanes' kColumns columns from `first` on, whose lane is the first
// of the warp's. The values are there after tensor_wait_loads, and are NaN until then.
void tensor_load_columns(TensorAddress first, float* values, u32 columns);
template <int kColumns>
void tensor_load(TensorAddress first, float (&values)[kColumns]) {
  static_assert(kColumns == 8 || kColumns == 16 || kColumns == 32);
  tensor_load_columns(first, values, kColumns);
}
// A warp together: all its loads are complete. `values` names those that are used next: the values
// of a load are there only behind a wait that names them, for the compiler may move other uses
// before it.
void tensor_wait_for(const float* values, const Site& site);
template <int kColumns>
void tensor_wait_loads(float (&values)[kColumns], Site site = Site::here()) {
  tensor_wait_for(values, site);
}

// A warp together: to where a load of the same columns would read. The values are there after
// tensor_wait_stores, for the warp's own loads; for others behind a tensor_fence_before, a barrier
// and their tensor_fence_after.
void tensor_store_columns(TensorAddress first, const float* values, u32 columns);
template <int kColumns>
void tensor_store(TensorAddress first, const float (&values)[kColumns]) {
  static_assert(kColumns == 8 || kColumns == 16 || kColumns == 32);
  tensor_store_columns(first, values, kColumns);
}
// A warp together: all its stores are complete.
void tensor_wait_stores(Site site = Site::here());

}  // namespace thresher::gpu::hw
