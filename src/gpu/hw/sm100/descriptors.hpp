// SPDX-License-Identifier: Apache-2.0
// What tcgen05 is told in bits: where a matrix lies in shared memory, what an instruction
// multiplies, and where something lies in tensor memory. The compiler checks none of them; the
// emulator takes them apart by itself (emulator/tensor_descriptor.hpp).
#pragma once

#include "gpu/hw/words.hpp"

namespace thresher::gpu::hw {

// A place in tensor memory: the lane in the upper half, the column in the lower.
using TensorAddress = u32;

inline constexpr u32 kTensorLanes = 128;
inline constexpr u32 kTensorColumns = 512;
inline constexpr u32 kLanesPerWarp = 32;  // a warp reaches those of its number modulo 4

THRESHER_DEVICE constexpr TensorAddress tensor_address(u32 lane, u32 column) {
  return lane << 16 | column;
}

// One MMA is 64 deep: 32 bytes of codes per row, and four scales of 16 codes each.
inline constexpr int kBlockScaledK = 64;
// Of an MMA in one block, or in each block of a pair; its columns are a multiple of 8 up to 256, of
// 16 for a pair. A pair may also have half as many rows in each block.
inline constexpr u32 kBlockScaledRows = 128;
// Columns of tensor memory that the scales of 128 rows take, 64 deep: row r, scale j is byte j of
// column r / 32 in lane r % 32, the same in all four warps' lanes.
inline constexpr u32 kScaleColumns = 4;
// Their bytes in shared memory: 32 rows of 16, as tensor_copy_scales takes them.
inline constexpr u32 kScaleBytes = 512;

// A matrix in shared memory. Swizzled: groups of 8 rows, `stride_bytes` apart, aligned to 1024
// bytes. Without a swizzle 8 rows x 16 bytes are 128 contiguous bytes.
THRESHER_DEVICE constexpr u64 tensor_descriptor(SharedAddress address, u32 stride_bytes,
                                                Swizzle swizzle) {
#ifndef __CUDACC_RTC__
  if ((address | stride_bytes) % 16 != 0) report_descriptor(address, 0, stride_bytes);
#endif
  constexpr u64 kVersion = u64{1} << 46;
  // 128 bytes are 2, 64 are 4, 32 are 6, none is 0.
  const u64 layout = swizzle == Swizzle::kNone ? 0 : 2 * (4 - static_cast<u64>(swizzle));
  const auto field = [](u32 bytes) { return static_cast<u64>((bytes & 0x3ffff) >> 4); };
  return field(address) | field(stride_bytes) << 32 | kVersion | layout << 61;
}

// E2M1 times E2M1, both K-major, with UE4M3 scales: 128 rows x `columns`, or 256 or 128 of a pair.
THRESHER_DEVICE constexpr u32 block_scaled_instruction(u32 columns, u32 rows = kBlockScaledRows) {
  constexpr u32 kE2m1 = 1;
  return kE2m1 << 7 | kE2m1 << 10 | columns / 8 << 17 | rows / 16 << 24;
}

// What one MMA is told.
struct BlockScaledMma {
  TensorAddress sums =
      0;                // 128 lanes x columns, floats; of 64 rows per block see emulated_pair.hpp
  u64 a = 0;            // a block's rows of codes: tensor_descriptor
  u64 b = 0;            // as many rows of codes as columns; half as many in each of a pair
  u32 instruction = 0;  // block_scaled_instruction
  TensorAddress a_scales = 0;
  TensorAddress b_scales = 0;
  bool add = false;  // to the sums; otherwise they are overwritten
};

}  // namespace thresher::gpu::hw
