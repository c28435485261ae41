// SPDX-License-Identifier: Apache-2.0
// tcgen05 for pairs of blocks in PTX, for sm_100a; where kBlocks is 1, for one block.
#pragma once

#include "gpu/hw/sm100/descriptors.hpp"
#include "gpu/hw/sm100/ptx_tensor.cuh"

namespace thresher::gpu::hw {

template <int kBlocks>
THRESHER_DEVICE void tensor_allocate(SharedAddress where, u32 columns) {
  if constexpr (kBlocks == 1) return tensor_allocate(where, columns);
  asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(where),
               "r"(columns)
               : "memory");
}

template <int kBlocks>
THRESHER_DEVICE void tensor_free(TensorAddress first, u32 columns) {
  if constexpr (kBlocks == 1) return tensor_free(first, columns);
  asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(first), "r"(columns));
}

template <int kBlocks>
THRESHER_DEVICE void tensor_allocate_no_more() {
  if constexpr (kBlocks == 1) return tensor_allocate_no_more();
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;");
}

template <int kBlocks>
THRESHER_DEVICE void tensor_copy_scales(TensorAddress destination, u64 descriptor) {
  if constexpr (kBlocks == 1) return tensor_copy_scales(destination, descriptor);
  asm volatile("tcgen05.cp.cta_group::2.32x128b.warpx4 [%0], %1;" ::"r"(destination),
               "l"(descriptor)
               : "memory");
}

THRESHER_DEVICE void tensor_copy_scales_by_halves(TensorAddress destination, u64 descriptor) {
  asm volatile("tcgen05.cp.cta_group::2.64x128b.warpx2::01_23 [%0], %1;" ::"r"(destination),
               "l"(descriptor)
               : "memory");
}

template <int kBlocks>
THRESHER_DEVICE void tensor_multiply(const BlockScaledMma& mma) {
  if constexpr (kBlocks == 1) return tensor_multiply(mma);
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.u32 p, %6, 0;\n"
      "tcgen05.mma.cta_group::2.kind::mxf4nvf4.block_scale.block16 "
      "[%0], %1, %2, %3, [%4], [%5], p;\n"
      "}" ::"r"(mma.sums),
      "l"(mma.a), "l"(mma.b), "r"(mma.instruction), "r"(mma.a_scales), "r"(mma.b_scales),
      "r"(mma.add ? 1u : 0u)
      : "memory");
}

template <int kBlocks>
THRESHER_DEVICE void tensor_commit(SharedAddress barrier) {
  if constexpr (kBlocks == 1) return tensor_commit(barrier);
  constexpr u16 kBothBlocks = 3;  // of a cluster of two
  asm volatile(
      "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 "
      "[%0], %1;" ::"r"(barrier),
      "h"(kBothBlocks)
      : "memory");
}

}  // namespace thresher::gpu::hw
