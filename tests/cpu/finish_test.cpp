// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "cpu/body.hpp"
#include "nvfp4/half.hpp"

namespace thresher::cpu {
namespace {

// One row of one fused dual tile with up = 1: the body's SiLU, unrounded.
float silu_of(const Body& body, float gate) {
  float sums[kSumColumns];
  for (int i = 0; i < kSumColumns; ++i) sums[i] = i < kPanelColumns ? gate : 1.0f;
  float c[kPanelColumns];
  body.finish_dual[static_cast<int>(Output::kFp32)]({.sums = sums,
                                                     .row_count = 1,
                                                     .column_count = kPanelColumns,
                                                     .c = c,
                                                     .c_stride_elements = kPanelColumns});
  return c[7];
}

double exact_silu(double g) { return g / (1.0 + std::exp(-g)); }

TEST(Finish, SiluIsWithinEightUlpOfFloat64) {
  for (const Isa isa : runnable_isas()) {
    double worst = 0;
    for (float gate = -90.0f; gate < 90.0f; gate += 0.00731f) {
      const double exact = exact_silu(gate);
      // Below 2^-126 * |g| the exponential is flushed to zero; gemm/bound.hpp allows for it.
      const double allowed = 0x1p-24 * std::abs(exact) + std::abs(gate) * 0x1p-126;
      worst = std::max(worst, std::abs(silu_of(body(isa), gate) - exact) / allowed);
    }
    EXPECT_LT(worst, 8.0) << to_string(isa);
  }
}

TEST(Finish, SiluOfSpecialValues) {
  const Body& body = portable_body();
  EXPECT_EQ(silu_of(body, 0.0f), 0.0f);
  EXPECT_EQ(silu_of(body, 1e30f), 1e30f);
  EXPECT_EQ(silu_of(body, -1e30f), 0.0f);
  EXPECT_TRUE(std::isnan(silu_of(body, std::nanf(""))));
}

// Ties, subnormals, overflow and NaN, in every body, against the number format's own conversion.
TEST(Finish, RoundsOnceToNearestEven) {
  for (const Isa isa : runnable_isas()) {
    std::uint32_t state = 1;
    for (int repeat = 0; repeat < 4000; ++repeat) {
      float sums[kSumColumns];
      for (float& sum : sums) {
        state = state * 1664525u + 1013904223u;
        sum = std::bit_cast<float>(repeat % 2 == 0 ? state : state & 0xffff8000u);
      }
      std::uint16_t fp16[kSumColumns];
      std::uint16_t bf16[kSumColumns];
      FinishArgs args{.sums = sums, .row_count = 1, .column_count = kSumColumns};
      args.c = fp16;
      body(isa).finish_gemm[static_cast<int>(Output::kFp16)](args);
      args.c = bf16;
      body(isa).finish_gemm[static_cast<int>(Output::kBf16)](args);
      for (int i = 0; i < kSumColumns; ++i) {
        if (std::isnan(sums[i])) {
          EXPECT_TRUE(std::isnan(nvfp4::fp16_to_float(fp16[i])));
          EXPECT_TRUE(std::isnan(nvfp4::bf16_to_float(bf16[i])));
          continue;
        }
        ASSERT_EQ(fp16[i], nvfp4::float_to_fp16(sums[i])) << to_string(isa) << " " << sums[i];
        ASSERT_EQ(bf16[i], nvfp4::float_to_bf16(sums[i])) << to_string(isa) << " " << sums[i];
      }
    }
  }
}

}  // namespace
}  // namespace thresher::cpu
