// SPDX-License-Identifier: Apache-2.0
// The kernel that measures the tensor cores with NVFP4, in the emulator: does it do the work that
// is timed?
#include "gpu/sm100/kernels/ceilings.cuh"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "emulator/device_memory.hpp"
#include "emulator/launch.hpp"

namespace thresher::gpu::sm100 {
namespace {

u32 byte_at(u32 place) { return ceiling_word(place / 4 * 4) >> place % 4 * 8 & 0xff; }

double scale_at(u32 scales, u32 row, u32 block, u32 row_blocks) {
  const u32 code = byte_at(scales + scale_place(row, block, row_blocks));
  return (8 + (code & 7)) / 8.0 * std::exp2(static_cast<int>(code >> 3) - 7);
}

double value_at(u32 codes, u32 row, u32 k) {
  constexpr double kValues[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  const u32 byte = byte_at(codes + code_place(row, k / kBlockK) + k % kBlockK / 2);
  const u32 code = k % 2 == 0 ? byte & 15 : byte >> 4;
  return code < 8 ? kValues[code] : -kValues[code - 8];
}

double element(u32 row, u32 column) {
  double sum = 0;
  for (u32 k = 0; k < kTileK; ++k) {
    sum += value_at(0, row, k) * scale_at(kMultiplyRowScales, row, k / kBlockK, 1) *
           value_at(kMultiplyColumnCodes, column, k) *
           scale_at(kMultiplyColumnScales, column, k / kBlockK, 2);
  }
  return sum;
}

std::vector<float> run(u32 pass_count) {
  emulator::DeviceMemory memory;
  auto* sums = static_cast<float*>(memory.allocate(kMultiplyThreads * 4, "sums"));
  const MultiplyCeilingArgs args{.pass_count = pass_count, .sums = sums};
  emulator::launch(
      {.thread_count = kMultiplyThreads, .shared_bytes = kMultiplySharedBytes, .memory = &memory},
      [&] { multiply_ceiling_kernel(args); });
  return {sums, sums + kMultiplyThreads};
}

TEST(BlockScaledMultiplyCeiling, MultipliesEveryPass) {
  const std::vector<float> once = run(1);
  for (const u32 thread : {0u, 37u, 90u, 133u, 255u}) {
    double sum = 0;
    for (u32 column = 0; column < kMultiplyColumns / 2; ++column) {
      sum += element(thread % kTileRows, thread / kTileRows * kMultiplyColumns / 2 + column);
    }
    EXPECT_NEAR(once[thread], sum, 1) << thread;
    EXPECT_GT(std::fabs(sum), 10) << thread;
  }
  const std::vector<float> thrice = run(3);
  for (std::size_t thread = 0; thread < once.size(); ++thread) {
    EXPECT_NEAR(thrice[thread], 3 * once[thread], 1 + 1e-4 * std::fabs(once[thread])) << thread;
  }
}

}  // namespace
}  // namespace thresher::gpu::sm100
