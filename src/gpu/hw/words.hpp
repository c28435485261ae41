// SPDX-License-Identifier: Apache-2.0
// The part of the vocabulary that needs no hardware: its types, and the matrix descriptor, which is
// only bits in a word.
#pragma once

#include "gpu/hw/types.hpp"

namespace thresher::gpu::hw {

// A byte address inside the block's shared window.
using SharedAddress = u32;
// The same of a block of the cluster, as all its blocks know it.
using ClusterAddress = u32;

inline constexpr int kWarpThreads = 32;
inline constexpr int kWarpgroupThreads = 128;

// The 16-bit types an MMA multiplies; sums are always float. Kernels of the emulator can leave it
// to the launch (emulated_types.hpp).
enum class Operand : u8 { kFp16, kBf16, kOfLaunch };

// How the 16-byte chunks of an 8-row group are permuted: the row length in bytes.
enum class Swizzle : u8 { kNone, k32, k64, k128 };

// The instructions that PTX bodies may use, by the compute capability that has them: by default all
// of the device that is compiled for. Kernels that shall be the same everywhere ask for fewer.
#if defined(__CUDACC_RTC__) && !defined(THRESHER_PTX_ARCH)
#define THRESHER_PTX_ARCH __CUDA_ARCH__
#endif

// Two E4M3 values (in the low two bytes) times 2^-8, as bits of fp16: what a device without the
// instruction starts from. NaN stays NaN.
THRESHER_DEVICE constexpr u32 e4m3x2_by_bits(u32 pair) {
  const u32 spread = (pair & 0xff) | (pair & 0xff00) << 8;
  const u32 magnitudes = spread & 0x007f007f;
  const u32 nans = (magnitudes + 0x00010001) & 0x00800080;
  return (spread & 0x00800080) << 8 | magnitudes << 7 | nans * 0xf8;
}
inline constexpr u32 kTwoTo8Fp16x2 = 0x5c005c00;

#ifndef __CUDACC_RTC__
// The emulator's: throws, for the bits cannot hold such a number.
void report_descriptor(SharedAddress address, u32 leading_bytes, u32 stride_bytes);
#endif

// Describes a K-major matrix in shared memory to an MMA.
//   no swizzle: 8 rows x 16 bytes are 128 contiguous bytes; `leading_bytes` from one such piece to
//     the next along K, `stride_bytes` from one group of 8 rows to the next.
//   swizzled: 8 rows of 32, 64 or 128 bytes follow each other; `stride_bytes` from one group of 8
//     rows to the next, `leading_bytes` unused. Groups start at multiples of 8 rows; to step along
//     K inside a row, add the bytes to `address`.
THRESHER_DEVICE constexpr u64 descriptor(SharedAddress address, u32 leading_bytes, u32 stride_bytes,
                                         Swizzle swizzle) {
#ifndef __CUDACC_RTC__
  if ((address | leading_bytes | stride_bytes) % 16 != 0) {
    report_descriptor(address, leading_bytes, stride_bytes);
  }
#endif
  // The codes run backwards: 128 bytes are 1, 32 bytes are 3.
  const u64 swizzle_code = (4 - static_cast<u64>(swizzle)) & 3;
  const auto field = [](u32 bytes) { return static_cast<u64>((bytes & 0x3ffff) >> 4); };
  return field(address) | field(leading_bytes) << 16 | field(stride_bytes) << 32 |
         swizzle_code << 62;
}

}  // namespace thresher::gpu::hw
