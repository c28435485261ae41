// SPDX-License-Identifier: Apache-2.0
// cp.async, ldmatrix and mma.sync: copies by thread and MMAs by warp, on every GPU since Ampere.
#pragma once

#include "gpu/hw/words.hpp"

namespace thresher::gpu::hw {

// With a source of 0 bytes nothing is read, and all 16 become zeros.
THRESHER_DEVICE void copy_piece(SharedAddress destination, const void* source, bool exists = true) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(destination), "l"(source),
               "r"(exists ? 16 : 0)
               : "memory");
}

THRESHER_DEVICE void pieces_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int kPending>
THRESHER_DEVICE void pieces_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

THRESHER_DEVICE void load_matrix_x4(SharedAddress row, u32 (&m)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(row)
               : "memory");
}

// Not volatile: it touches nothing but its operands, and the compiler may order it as it likes.
template <Operand kOperand>
THRESHER_DEVICE void mma_warp(float* d, const u32 (&a)[4], const u32* b) {
  if constexpr (kOperand == Operand::kFp16) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
}

}  // namespace thresher::gpu::hw
