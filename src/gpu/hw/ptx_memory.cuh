// SPDX-License-Identifier: Apache-2.0
// Ordinary loads and stores, the atomic, and matrix stores.
#pragma once

#include "gpu/hw/words.hpp"

namespace thresher::gpu::hw {

extern __shared__ __align__(1024) u8 dynamic_shared_memory[];

THRESHER_DEVICE SharedAddress shared_base() {
  return static_cast<SharedAddress>(__cvta_generic_to_shared(dynamic_shared_memory));
}

// Has the line of an address brought to the L2. Nothing is read: it may be stored to meanwhile.
THRESHER_DEVICE void prefetch(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

template <typename T>
THRESHER_DEVICE T load_shared(SharedAddress address) = delete;
template <typename T>
THRESHER_DEVICE void store_shared(SharedAddress address, T value) = delete;
template <typename T>
THRESHER_DEVICE T load_global(const T* address) = delete;
template <typename T>
THRESHER_DEVICE T load_global_coherent(const T* address) = delete;
template <typename T>
THRESHER_DEVICE void store_global(T* address, T value) = delete;

// One scalar type: `width` as PTX spells it, `constraint` its register, `Register` what that holds
// (a byte lives in a 16-bit register).
#define THRESHER_MEMORY_WORDS(T, width, constraint, Register)                                \
  template <>                                                                                \
  THRESHER_DEVICE T load_shared<T>(SharedAddress address) {                                  \
    Register value;                                                                          \
    asm volatile("ld.shared." width " %0, [%1];" : "=" constraint(value) : "r"(address));    \
    return static_cast<T>(value);                                                            \
  }                                                                                          \
  template <>                                                                                \
  THRESHER_DEVICE T load_global<T>(const T* address) {                                       \
    Register value;                                                                          \
    asm volatile("ld.global.nc." width " %0, [%1];" : "=" constraint(value) : "l"(address)); \
    return static_cast<T>(value);                                                            \
  }                                                                                          \
  template <>                                                                                \
  THRESHER_DEVICE T load_global_coherent<T>(const T* address) {                              \
    Register value;                                                                          \
    asm volatile("ld.relaxed.gpu.global." width " %0, [%1];"                                 \
                 : "=" constraint(value)                                                     \
                 : "l"(address)                                                              \
                 : "memory");                                                                \
    return static_cast<T>(value);                                                            \
  }                                                                                          \
  template <>                                                                                \
  THRESHER_DEVICE void store_shared<T>(SharedAddress address, T value) {                     \
    asm volatile("st.shared." width " [%0], %1;" ::"r"(address),                             \
                 constraint(static_cast<Register>(value))                                    \
                 : "memory");                                                                \
  }                                                                                          \
  template <>                                                                                \
  THRESHER_DEVICE void store_global<T>(T * address, T value) {                               \
    asm volatile("st.global." width " [%0], %1;" ::"l"(address),                             \
                 constraint(static_cast<Register>(value))                                    \
                 : "memory");                                                                \
  }
THRESHER_MEMORY_WORDS(u8, "u8", "h", u16)
THRESHER_MEMORY_WORDS(u16, "u16", "h", u16)
THRESHER_MEMORY_WORDS(u32, "u32", "r", u32)
THRESHER_MEMORY_WORDS(u64, "u64", "l", u64)
THRESHER_MEMORY_WORDS(float, "f32", "f", float)
#undef THRESHER_MEMORY_WORDS

// The same for a vector: `load` and `store` name its members in the asm, `outputs` and `inputs`
// bind them.
#define THRESHER_VECTOR_WORDS(T, width, load, store, outputs, inputs)                              \
  template <>                                                                                      \
  THRESHER_DEVICE T load_shared<T>(SharedAddress address) {                                        \
    T value;                                                                                       \
    asm volatile("ld.shared." width " " load ";" : outputs : "r"(address));                        \
    return value;                                                                                  \
  }                                                                                                \
  template <>                                                                                      \
  THRESHER_DEVICE T load_global<T>(const T* address) {                                             \
    T value;                                                                                       \
    asm volatile("ld.global.nc." width " " load ";" : outputs : "l"(address));                     \
    return value;                                                                                  \
  }                                                                                                \
  template <>                                                                                      \
  THRESHER_DEVICE T load_global_coherent<T>(const T* address) {                                    \
    T value;                                                                                       \
    asm volatile("ld.relaxed.gpu.global." width " " load ";" : outputs : "l"(address) : "memory"); \
    return value;                                                                                  \
  }                                                                                                \
  template <>                                                                                      \
  THRESHER_DEVICE void store_shared<T>(SharedAddress address, T value) {                           \
    asm volatile("st.shared." width " " store ";" ::"r"(address), inputs : "memory");              \
  }                                                                                                \
  template <>                                                                                      \
  THRESHER_DEVICE void store_global<T>(T * address, T value) {                                     \
    asm volatile("st.global." width " " store ";" ::"l"(address), inputs : "memory");              \
  }
#define THRESHER_OUTPUTS2 "=r"(value.x), "=r"(value.y)
#define THRESHER_OUTPUTS4 THRESHER_OUTPUTS2, "=r"(value.z), "=r"(value.w)
#define THRESHER_INPUTS2 "r"(value.x), "r"(value.y)
#define THRESHER_INPUTS4 THRESHER_INPUTS2, "r"(value.z), "r"(value.w)
THRESHER_VECTOR_WORDS(U32x2, "v2.u32", "{%0, %1}, [%2]", "[%0], {%1, %2}", THRESHER_OUTPUTS2,
                      THRESHER_INPUTS2)
THRESHER_VECTOR_WORDS(U32x4, "v4.u32", "{%0, %1, %2, %3}, [%4]", "[%0], {%1, %2, %3, %4}",
                      THRESHER_OUTPUTS4, THRESHER_INPUTS4)
#undef THRESHER_INPUTS4
#undef THRESHER_INPUTS2
#undef THRESHER_OUTPUTS4
#undef THRESHER_OUTPUTS2
#undef THRESHER_VECTOR_WORDS

THRESHER_DEVICE u32 atomic_add(u32* address, u32 value) {
  u32 before;
  asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(address), "r"(value)
               : "memory");
  return before;
}

THRESHER_DEVICE u32 load_global_acquire(const u32* address) {
  u32 value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

THRESHER_DEVICE void fence_device() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

#if THRESHER_PTX_ARCH >= 900
THRESHER_DEVICE void store_matrix_x4(SharedAddress row, u32 m0, u32 m1, u32 m2, u32 m3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row),
               "r"(m0), "r"(m1), "r"(m2), "r"(m3)
               : "memory");
}

THRESHER_DEVICE void store_matrix_x4_transposed(SharedAddress row, u32 m0, u32 m1, u32 m2, u32 m3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row),
               "r"(m0), "r"(m1), "r"(m2), "r"(m3)
               : "memory");
}
#else
// Before Hopper a lane stores its own pair of each matrix, at the address that the lane of its row
// names.
THRESHER_DEVICE void store_matrix_pairs(SharedAddress row, const u32 (&pairs)[4]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpThreads;
  THRESHER_UNROLL
  for (int i = 0; i < 4; ++i) {
    u32 of_row;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;"
                 : "=r"(of_row)
                 : "r"(row), "r"(8 * i + lane / 4));
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(of_row + static_cast<u32>(lane % 4 * 4)),
                 "r"(pairs[i])
                 : "memory");
  }
}

THRESHER_DEVICE u32 transposed(u32 matrix) {
  u32 result;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(matrix));
  return result;
}

THRESHER_DEVICE void store_matrix_x4(SharedAddress row, u32 m0, u32 m1, u32 m2, u32 m3) {
  store_matrix_pairs(row, {m0, m1, m2, m3});
}

THRESHER_DEVICE void store_matrix_x4_transposed(SharedAddress row, u32 m0, u32 m1, u32 m2, u32 m3) {
  store_matrix_pairs(row, {transposed(m0), transposed(m1), transposed(m2), transposed(m3)});
}
#endif

}  // namespace thresher::gpu::hw
