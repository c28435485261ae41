// SPDX-License-Identifier: Apache-2.0
// tcgen05 in PTX, for sm_100a.
#pragma once

#include "gpu/hw/sm100/descriptors.hpp"

namespace thresher::gpu::hw {

THRESHER_DEVICE void tensor_allocate(SharedAddress where, u32 columns) {
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(where),
               "r"(columns)
               : "memory");
}

THRESHER_DEVICE void tensor_free(TensorAddress first, u32 columns) {
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(first), "r"(columns));
}

THRESHER_DEVICE void tensor_allocate_no_more() {
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
}

THRESHER_DEVICE void tensor_fence_before() {
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}

THRESHER_DEVICE void tensor_fence_after() {
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

THRESHER_DEVICE void tensor_copy_scales(TensorAddress destination, u64 descriptor) {
  asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(destination),
               "l"(descriptor)
               : "memory");
}

THRESHER_DEVICE void tensor_multiply(const BlockScaledMma& mma) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.u32 p, %6, 0;\n"
      "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 "
      "[%0], %1, %2, %3, [%4], [%5], p;\n"
      "}" ::"r"(mma.sums),
      "l"(mma.a), "l"(mma.b), "r"(mma.instruction), "r"(mma.a_scales), "r"(mma.b_scales),
      "r"(mma.add ? 1u : 0u)
      : "memory");
}

THRESHER_DEVICE void tensor_commit(SharedAddress barrier) {
  asm volatile(
      "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier)
      : "memory");
}

THRESHER_DEVICE void tensor_commit_to_blocks(SharedAddress barrier, u32 blocks) {
  asm volatile(
      "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 "
      "[%0], %1;" ::"r"(barrier),
      "h"(static_cast<u16>(blocks))
      : "memory");
}

// An asm string cannot be computed, so every width spells its registers.
#define THRESHER_LOADED8(i)                                                       \
  "=f"(values[i]), "=f"(values[i + 1]), "=f"(values[i + 2]), "=f"(values[i + 3]), \
      "=f"(values[i + 4]), "=f"(values[i + 5]), "=f"(values[i + 6]), "=f"(values[i + 7])
#define THRESHER_NAMES8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define THRESHER_NAMES16 THRESHER_NAMES8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define THRESHER_NAMES32                                                \
  THRESHER_NAMES16                                                      \
  ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, " \
  "%29, %30, %31"

THRESHER_DEVICE void tensor_load(TensorAddress first, float (&values)[8]) {
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {" THRESHER_NAMES8 "}, [%8];"
               : THRESHER_LOADED8(0)
               : "r"(first));
}

THRESHER_DEVICE void tensor_load(TensorAddress first, float (&values)[16]) {
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x16.b32 {" THRESHER_NAMES16 "}, [%16];"
               : THRESHER_LOADED8(0), THRESHER_LOADED8(8)
               : "r"(first));
}

THRESHER_DEVICE void tensor_load(TensorAddress first, float (&values)[32]) {
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x32.b32 {" THRESHER_NAMES32 "}, [%32];"
               : THRESHER_LOADED8(0), THRESHER_LOADED8(8), THRESHER_LOADED8(16),
                 THRESHER_LOADED8(24)
               : "r"(first));
}

#define THRESHER_STORED8(i)                                                                       \
  "f"(values[i]), "f"(values[i + 1]), "f"(values[i + 2]), "f"(values[i + 3]), "f"(values[i + 4]), \
      "f"(values[i + 5]), "f"(values[i + 6]), "f"(values[i + 7])

THRESHER_DEVICE void tensor_store(TensorAddress first, const float (&values)[8]) {
  asm volatile("tcgen05.st.sync.aligned.32x32b.x8.b32 [%8], {" THRESHER_NAMES8
               "};" ::THRESHER_STORED8(0),
               "r"(first)
               : "memory");
}

THRESHER_DEVICE void tensor_store(TensorAddress first, const float (&values)[16]) {
  asm volatile("tcgen05.st.sync.aligned.32x32b.x16.b32 [%16], {" THRESHER_NAMES16
               "};" ::THRESHER_STORED8(0),
               THRESHER_STORED8(8), "r"(first)
               : "memory");
}

THRESHER_DEVICE void tensor_store(TensorAddress first, const float (&values)[32]) {
  asm volatile("tcgen05.st.sync.aligned.32x32b.x32.b32 [%32], {" THRESHER_NAMES32
               "};" ::THRESHER_STORED8(0),
               THRESHER_STORED8(8), THRESHER_STORED8(16), THRESHER_STORED8(24), "r"(first)
               : "memory");
}

#undef THRESHER_STORED8
#undef THRESHER_NAMES32
#undef THRESHER_NAMES16
#undef THRESHER_NAMES8
#undef THRESHER_LOADED8

// Behind the wait the compiler takes the values for new ones: none of their uses moves before it.
template <int kColumns>
THRESHER_DEVICE void tensor_wait_loads(float (&values)[kColumns]) {
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
  THRESHER_UNROLL
  for (int i = 0; i < kColumns; ++i) asm volatile("" : "+f"(values[i])::"memory");
}

THRESHER_DEVICE void tensor_wait_stores() {
  asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
}

}  // namespace thresher::gpu::hw
