// SPDX-License-Identifier: Apache-2.0
// The kernel that measures the tensor cores, in the emulator: does it do the work that is timed?
#include "gpu/sm80/kernels/ceilings.cuh"

#include <gtest/gtest.h>

#include "emulator/device_memory.hpp"
#include "emulator/launch.hpp"

namespace thresher::gpu::sm80 {
namespace {

constexpr u32 kOwnPairs = 4 + 2 * kMultiplyOctets;

double value_of(u32 pair_index, int half) {
  const u32 pair = operand_pair<hw::Operand::kFp16>(pair_index);
  return half == 0 ? hw::fp16_low(pair) : hw::fp16_high(pair);
}

// The sum of the accumulators that a thread of a warp holds after so many steps: rows r and r+8 by
// columns c and c+1 of every octet, from the pairs that the lanes of those rows and columns hold.
double sum_of_thread(u32 thread, int steps) {
  const u32 warp = thread / 32 * 32;
  double sum = 0;
  for (u32 octet = 0; octet < kMultiplyOctets; ++octet) {
    for (u32 i = 0; i < 4; ++i) {
      for (u32 k = 0; k < 16; ++k) {
        const u32 k_lane = k % 8 / 2;
        const int half = static_cast<int>(k % 2);
        const u32 a_lane = warp + thread % 32 / 4 * 4 + k_lane;
        const u32 b_lane = warp + (thread % 4 * 2 + i % 2) * 4 + k_lane;
        sum += value_of(a_lane * kOwnPairs + i / 2 + k / 8 * 2, half) *
               value_of(b_lane * kOwnPairs + 4 + 2 * octet + k / 8, half);
      }
    }
  }
  return sum * steps;
}

TEST(WarpMultiplyCeiling, MultipliesEveryPass) {
  emulator::DeviceMemory memory;
  auto* sums = static_cast<float*>(memory.allocate(kMultiplyThreads * 4, "sums"));
  const MultiplyCeilingArgs args{.pass_count = 1, .sums = sums};
  emulator::launch({.thread_count = kMultiplyThreads, .memory = &memory},
                   [&] { sm80::multiply_ceiling_kernel<hw::Operand::kFp16>(args); });
  for (u32 thread = 0; thread < kMultiplyThreads; thread += 37) {
    EXPECT_NEAR(sums[thread], sum_of_thread(thread, kMultiplySteps), 0.05) << thread;
  }
}

}  // namespace
}  // namespace thresher::gpu::sm80
