// SPDX-License-Identifier: Apache-2.0
// What the kernels that measure a GPU's ceilings are told (ceilings.cuh), and how much work that
// is.
#pragma once

#include "gpu/hw/types.hpp"
#include "gpu/hw/words.hpp"
#include "gpu/sm90/kernels/gemm_config.hpp"

namespace thresher::gpu::sm90 {

inline constexpr int kReadThreads = 256;
inline constexpr int kReadsInFlight = 8;  // per thread, of 16 bytes
// What a block reads between two looks at the loop.
inline constexpr u64 kReadChunkBytes = u64{kReadThreads} * kReadsInFlight * 16;

struct ReadCeilingArgs {
  const U32x4* data = nullptr;
  u64 chunk_count = 0;
  u32* sum = nullptr;  // the sum of all 32-bit words is added to it
};

// Two warpgroups multiply 64 rows each by the same 256 columns, over and over the same k, as far as
// shared memory holds it.
inline constexpr int kMultiplyWarpgroups = 2;
inline constexpr int kMultiplyThreads = kMultiplyWarpgroups * hw::kWarpgroupThreads;
inline constexpr int kMultiplyRows = kMultiplyWarpgroups * kSubTileRows;
inline constexpr int kMultiplyColumns = 256;
inline constexpr int kMultiplyTiles = 4;  // of 64 k
inline constexpr u32 kMultiplyTileBytes = (kMultiplyRows + kMultiplyColumns) * kImageRowBytes;
inline constexpr u32 kMultiplySharedBytes = kMultiplyTiles * kMultiplyTileBytes;
// Of a block and pass; a multiply-add is two.
inline constexpr u64 kMultiplyOperations =
    u64{2} * kMultiplyRows * kMultiplyColumns * kMultiplyTiles * kTileK;

struct MultiplyCeilingArgs {
  u32 pass_count = 0;
  float* sums = nullptr;  // one per thread of the grid: the sum of its accumulators
};

}  // namespace thresher::gpu::sm90
