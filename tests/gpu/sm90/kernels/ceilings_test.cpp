// SPDX-License-Identifier: Apache-2.0
// The kernel that multiplies, in the emulator: does it do the work that is timed?
#include "gpu/sm90/kernels/ceilings.cuh"

#include <gtest/gtest.h>

#include "emulator/device_memory.hpp"
#include "emulator/launch.hpp"
#include "nvfp4/half.hpp"

namespace thresher::gpu::sm90 {
namespace {

// What stands at a row and k of a tile, through the 128-byte swizzle.
template <hw::Operand kOperand>
double operand_at(int tile, int row, int k) {
  const int at = tile * static_cast<int>(kMultiplyTileBytes) + row * 128 +
                 ((k / 8) ^ row % 8) * 16 + k % 8 * 2;
  const u32 pair = operand_pair<kOperand>(static_cast<u32>(at / 4));
  const auto bits = static_cast<u16>(at % 4 == 0 ? pair : pair >> 16);
  return kOperand == hw::Operand::kFp16 ? nvfp4::fp16_to_float(bits) : nvfp4::bf16_to_float(bits);
}

// The sum of the accumulators that a thread holds after one pass.
template <hw::Operand kOperand>
double sum_of_thread(int thread) {
  double sum = 0;
  const int row = thread / 128 * 64 + thread % 128 / 32 * 16 + thread % 32 / 4;
  for (int tile = 0; tile < kMultiplyTiles; ++tile) {
    for (int k = 0; k < kTileK; ++k) {
      double columns = 0;
      for (int column = 2 * (thread % 4); column < kMultiplyColumns; column += 8) {
        columns += operand_at<kOperand>(tile, kMultiplyRows + column, k) +
                   operand_at<kOperand>(tile, kMultiplyRows + column + 1, k);
      }
      sum +=
          columns * (operand_at<kOperand>(tile, row, k) + operand_at<kOperand>(tile, row + 8, k));
    }
  }
  return sum;
}

template <hw::Operand kOperand>
void expect_right_sums() {
  constexpr u32 kPasses = 3;
  constexpr int kBlocks = 2;
  constexpr std::size_t kThreads = kBlocks * kMultiplyThreads;
  emulator::DeviceMemory memory;
  auto* sums = static_cast<float*>(memory.allocate(kThreads * sizeof(float), "sums"));
  const MultiplyCeilingArgs args{.pass_count = kPasses, .sums = sums};
  emulator::launch({.block_count = kBlocks,
                    .thread_count = kMultiplyThreads,
                    .shared_bytes = kMultiplySharedBytes,
                    .memory = &memory},
                   [&] { multiply_ceiling_kernel<kOperand>(args); });
  for (const int thread : {0, 3, 21, 100, 128, 255}) {
    const double right = kPasses * sum_of_thread<kOperand>(thread);
    for (int block = 0; block < kBlocks; ++block) {
      EXPECT_NEAR(sums[block * kMultiplyThreads + thread], right, 0.01) << block << " " << thread;
    }
  }
}

TEST(MultiplyCeiling, MultipliesFp16) { expect_right_sums<hw::Operand::kFp16>(); }
TEST(MultiplyCeiling, MultipliesBf16) { expect_right_sums<hw::Operand::kBf16>(); }

}  // namespace
}  // namespace thresher::gpu::sm90
