// SPDX-License-Identifier: Apache-2.0
// The kernel that reads, in the emulator: does it do the work that is timed? And the numbers that
// others multiply.
#include "gpu/gemm/kernels/ceilings.cuh"

#include <gtest/gtest.h>

#include <numeric>

#include "emulator/device_memory.hpp"
#include "emulator/launch.hpp"
#include "nvfp4/half.hpp"

namespace thresher::gpu {
namespace {

TEST(ReadCeiling, ReadsEveryWordOnce) {
  constexpr u64 kChunks = 7;
  constexpr std::size_t kWords = kChunks * kReadChunkBytes / 4;
  emulator::DeviceMemory memory;
  auto* words = static_cast<u32*>(memory.allocate(kWords * 4, "data"));
  auto* sum = static_cast<u32*>(memory.allocate(4, "sum"));
  for (std::size_t i = 0; i < kWords; ++i) words[i] = static_cast<u32>(i) * 2654435761u;
  *sum = 5;
  const ReadCeilingArgs args{
      .data = reinterpret_cast<const U32x4*>(words), .chunk_count = kChunks, .sum = sum};
  emulator::launch({.block_count = 3, .thread_count = kReadThreads, .memory = &memory},
                   [&] { read_ceiling_kernel(args); });
  EXPECT_EQ(*sum, std::accumulate(words, words + kWords, u32{5}));
}

// Zeros or few bits would let the clock rise.
TEST(MultiplyCeiling, MultipliesNumbersLikeSomebodysData) {
  constexpr u32 kCount = 1 << 16;
  double sum = 0;
  double squares = 0;
  u32 odd_mantissas = 0;
  for (u32 i = 0; i < kCount; ++i) {
    const float value = bell_shaped(i);
    sum += value;
    squares += value * value;
    odd_mantissas += nvfp4::float_to_fp16(value) & 1;
  }
  EXPECT_NEAR(sum / kCount, 0.0, 0.02);
  EXPECT_NEAR(squares / kCount, 4.0 / 3.0, 0.02);
  EXPECT_NEAR(static_cast<double>(odd_mantissas) / kCount, 0.5, 0.1);
}

}  // namespace
}  // namespace thresher::gpu
