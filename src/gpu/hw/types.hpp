// SPDX-License-Identifier: Apache-2.0
// The few names that device code shares with the host: integers of known width, vectors of words,
// the mark of a function that runs on the device, that of a loop to unroll, which arrays meant for
// registers need, and that of a loop which unrolled would need too many of them.
//
// Kernels are compiled by NVRTC, which has no standard headers, and by g++ for the emulator. Both
// read this file; it includes nothing.
#pragma once

#ifdef __CUDACC_RTC__
#define THRESHER_DEVICE __device__ __forceinline__
#define THRESHER_UNROLL _Pragma("unroll")
#define THRESHER_NO_UNROLL _Pragma("unroll 1")
#else
#define THRESHER_DEVICE inline
#define THRESHER_UNROLL
#define THRESHER_NO_UNROLL
#endif

namespace thresher::gpu {

// NOLINTBEGIN(readability-identifier-naming): names every reader of kernels expects
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;
// NOLINTEND(readability-identifier-naming)

static_assert(sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8);

// What one 64-bit and one 128-bit memory access carry; aligned as those must be.
struct alignas(8) U32x2 {
  u32 x = 0;
  u32 y = 0;
};

struct alignas(16) U32x4 {
  u32 x = 0;
  u32 y = 0;
  u32 z = 0;
  u32 w = 0;
};

}  // namespace thresher::gpu
