// SPDX-License-Identifier: Apache-2.0
// Pairs of 16-bit floats and permuted bytes, at the places where a rounding or a flush would show.
#include <gtest/gtest.h>

#include <cmath>

#include "gpu/hw/hw.cuh"

namespace thresher::gpu::hw {
namespace {

TEST(Pairs, MultiplyFp16) {
  EXPECT_EQ(multiply_fp16x2(0x40003c00, 0x42003800), 0x46003800U);  // 2 * 3, 1 * 0.5
  EXPECT_EQ(multiply_fp16x2(0x0001, 0x3c00), 0x0001U);              // subnormals are kept
  EXPECT_EQ(multiply_fp16x2(0x0400, 0x3800), 0x0200U);              // and produced
  EXPECT_EQ(multiply_fp16x2(0x0001, 0x3800), 0x0000U);              // half of the least, to even
  EXPECT_EQ(multiply_fp16x2(0x0003, 0x3800), 0x0002U);
  EXPECT_EQ(multiply_fp16x2(0x3c01, 0x3c01), 0x3c02U);  // (1 + 2^-10)^2
  EXPECT_EQ(multiply_fp16x2(0x7bff, 0x4000), 0x7c00U);  // overflow
  EXPECT_EQ(multiply_fp16x2(0x7c00, 0x0000), 0x7fffU);  // infinity times zero
  EXPECT_EQ(multiply_fp16x2(0xbc00, 0x0000), 0x8000U);
}

TEST(Pairs, MultiplyBf16) {
  EXPECT_EQ(multiply_bf16x2(0x40003f80, 0x40403f00), 0x40c03f00U);
  EXPECT_EQ(multiply_bf16x2(0x0080, 0x3f00), 0x0040U);  // the smallest normal halves
  EXPECT_EQ(multiply_bf16x2(0x7f7f, 0x4000), 0x7f80U);
  // 2^-126 * (1 + 2^-7) * 2^-8: the sticky bit below a subnormal's last one decides.
  EXPECT_EQ(multiply_bf16x2(0x0081, 0x3b80), 0x0001U);
}

TEST(Pairs, AddBf16) {
  EXPECT_EQ(add_bf16x2(0x40003f80, 0x40403f00), 0x40a03fc0U);
  EXPECT_EQ(add_bf16x2(0x3f80, 0xbf80), 0x0000U);
  EXPECT_EQ(add_bf16x2(0x3f80, 0xbb00), 0x3f80U);  // half of the place below 1 goes to the even
}

TEST(Pairs, PackAndUnpack) {
  EXPECT_EQ(pack_fp16x2(1.0f, -2.0f), 0xc0003c00U);
  EXPECT_EQ(pack_bf16x2(1.0f, -2.0f), 0xc0003f80U);
  EXPECT_EQ(pack_fp16x2(65520.0f, 65519.0f), 0x7bff7c00U);
  EXPECT_EQ(pack_bf16x2(1.00390625f, 1.01171875f), 0x3f823f80U);  // ties to even, both ways
  EXPECT_EQ(pack_fp16x2(NAN, 0.0f), 0x00007fffU);
  for (const float value : {0.5f, -3.0f, 0x1p-14f, 0.0f}) {
    EXPECT_EQ(fp16_low(pack_fp16x2(value, 9.0f)), value);
    EXPECT_EQ(fp16_high(pack_fp16x2(9.0f, value)), value);
    EXPECT_EQ(bf16_low(pack_bf16x2(value, 9.0f)), value);
    EXPECT_EQ(bf16_high(pack_bf16x2(9.0f, value)), value);
  }
}

// What devices without the instruction compute instead.
TEST(Pairs, UnpackE4m3ByBits) {
  for (u32 code = 0; code < 256; ++code) {
    for (const u32 pair : {code, code << 8 | 0x38, 0x7f00 | code}) {
      EXPECT_EQ(multiply_fp16x2(e4m3x2_by_bits(pair), kTwoTo8Fp16x2), unpack_e4m3x2(pair)) << pair;
    }
  }
}

TEST(Bits, MoveUnchanged) {
  EXPECT_EQ(float_to_bits(-1.0f), 0xbf800000U);
  EXPECT_EQ(bits_to_float(0x3f800000), 1.0f);
  // A product rounded first would lose the 2^-46.
  EXPECT_EQ(fma(1.0f + 0x1p-23f, 1.0f - 0x1p-23f, -1.0f), -0x1p-46f);
}

TEST(Bits, PermuteBytes) {
  EXPECT_EQ(permute_bytes(0x33221100, 0x77665544, 0x3210), 0x33221100U);
  EXPECT_EQ(permute_bytes(0x33221100, 0x77665544, 0x7654), 0x77665544U);
  EXPECT_EQ(permute_bytes(0x33221100, 0x77665544, 0x0516), 0x00551166U);
  EXPECT_EQ(permute_bytes(0x00008000, 0x0000007f, 0x0c98), 0x0000ff00U);  // signs spread
}

}  // namespace
}  // namespace thresher::gpu::hw
