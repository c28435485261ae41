// SPDX-License-Identifier: Apache-2.0
#include "gpu/gemm/kernels/silu.cuh"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "cpu/body.hpp"

namespace thresher::gpu {
namespace {

// The CPU backend's SiLU: a fused dual tile of one row with up = 1.
void cpu_silu(const float (&gates)[16], float (&out)[16]) {
  float sums[cpu::kSumColumns];
  for (int i = 0; i < 16; ++i) {
    sums[i] = gates[i];
    sums[16 + i] = 1.0f;
  }
  cpu::portable_body().finish_dual[static_cast<int>(Output::kFp32)](
      {.sums = sums, .row_count = 1, .column_count = 16, .c = out, .c_stride_elements = 16});
}

TEST(Silu, HasTheBitsOfTheCpuBackend) {
  u32 state = 1;
  for (int repeat = 0; repeat < 20000; ++repeat) {
    float gates[16];
    for (float& gate : gates) {
      state = state * 1664525u + 1013904223u;
      // Half of them any float at all, the others where SiLU bends.
      gate = repeat % 2 == 0 ? std::bit_cast<float>(state)
                             : static_cast<float>(static_cast<i32>(state)) * 0x1p-24f;
    }
    float expected[16];
    cpu_silu(gates, expected);
    for (int i = 0; i < 16; ++i) {
      const float got = silu(gates[i]);
      if (std::isnan(expected[i])) {
        EXPECT_TRUE(std::isnan(got)) << gates[i];
      } else {
        ASSERT_EQ(std::bit_cast<u32>(got), std::bit_cast<u32>(expected[i])) << gates[i];
      }
    }
  }
}

TEST(Silu, ReciprocalsAreWithinAnUlp) {
  for (u32 bits = 0x3f800000; bits <= 0x40000000; bits += 7) {
    const auto d = std::bit_cast<float>(bits);
    const u32 exact = std::bit_cast<u32>(1.0f / d);
    const u32 got = std::bit_cast<u32>(reciprocal(d));
    ASSERT_LE(got > exact ? got - exact : exact - got, 1u) << d;
  }
  EXPECT_EQ(reciprocal(1.0f), 1.0f);
  EXPECT_EQ(reciprocal(2.0f), 0.5f);
}

TEST(Silu, OfSpecialValues) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(silu(kInfinity), kInfinity);
  EXPECT_EQ(silu(0.0f), 0.0f);
  EXPECT_EQ(silu(1e30f), 1e30f);
  EXPECT_EQ(silu(-1e30f), 0.0f);
  EXPECT_TRUE(std::isnan(silu(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace thresher::gpu
