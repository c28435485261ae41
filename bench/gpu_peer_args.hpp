// SPDX-License-Identifier: Apache-2.0
// What the kernels around a GPU peer's products are told (gpu_peer_kernels.cuh); host and device
// read it.
#pragma once

#include "gpu/hw/types.hpp"

namespace thresher::bench {

using gpu::u32;
using gpu::u64;
using gpu::u8;

// NVFP4 in checkpoint order to 16 bits, without global scales. A word is 8 codes.
struct ExpandArgs {
  const u32* codes = nullptr;
  const u8* scales = nullptr;  // one per two words
  gpu::U32x4* out = nullptr;   // one per word
  u64 word_count = 0;
};

inline constexpr int kExpandThreads = 256;
inline constexpr int kExpandWordsPerThread = 4;
inline constexpr u64 kExpandWordsPerBlock = u64{kExpandThreads} * kExpandWordsPerThread;

// One row of a dual problem's C, and of the products it is made of: n gates, then n ups. Addresses
// are 64-bit numbers, as device code loads them.
struct GateRow {
  u64 products = 0;  // floats
  u64 c = 0;         // 16 bits each
  u32 n = 0;
  float gate_factor = 1.0f;  // alpha and global scales
  float up_factor = 1.0f;
};
static_assert(sizeof(GateRow) == 32);

// One block per row.
struct GateArgs {
  const GateRow* rows = nullptr;
};

inline constexpr int kGateThreads = 256;

}  // namespace thresher::bench
