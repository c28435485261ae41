// SPDX-License-Identifier: Apache-2.0
// What the kernels that measure a GPU's ceilings are told (ceilings.cuh), how much the one that
// reads does, and how many threads multiply.
#pragma once

#include "gpu/hw/types.hpp"
#include "gpu/hw/words.hpp"

namespace thresher::gpu {

inline constexpr int kReadThreads = 256;
inline constexpr int kReadsInFlight = 8;  // per thread, of 16 bytes
// What a block reads between two looks at the loop.
inline constexpr u64 kReadChunkBytes = u64{kReadThreads} * kReadsInFlight * 16;

struct ReadCeilingArgs {
  const U32x4* data = nullptr;
  u64 chunk_count = 0;
  u32* sum = nullptr;  // the sum of all 32-bit words is added to it
};

inline constexpr int kMultiplyWarpgroups = 2;
inline constexpr int kMultiplyThreads = kMultiplyWarpgroups * hw::kWarpgroupThreads;

struct MultiplyCeilingArgs {
  u32 pass_count = 0;
  float* sums = nullptr;  // one per thread of the grid: the sum of its accumulators
};

}  // namespace thresher::gpu
