// SPDX-License-Identifier: Apache-2.0
// Arithmetic on pairs of 16-bit floats in a word, and on bits. Nothing here flushes subnormals.
#pragma once

#include "gpu/hw/words.hpp"

namespace thresher::gpu::hw {

// ".rn" keeps the compiler from fusing the product with an add that follows.
THRESHER_DEVICE u32 multiply_fp16x2(u32 a, u32 b) {
  u32 product;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
  return product;
}

// Before Hopper there is only the fused one, which rounds once too: with a product by 1 or a sum
// with -0 it gives the same bits.
#if THRESHER_PTX_ARCH >= 900
THRESHER_DEVICE u32 multiply_bf16x2(u32 a, u32 b) {
  u32 product;
  asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
  return product;
}

THRESHER_DEVICE u32 add_bf16x2(u32 a, u32 b) {
  u32 sum;
  asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
  return sum;
}
#else
THRESHER_DEVICE u32 multiply_bf16x2(u32 a, u32 b) {
  u32 product;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(product) : "r"(a), "r"(b), "r"(0x80008000u));
  return product;
}

THRESHER_DEVICE u32 add_bf16x2(u32 a, u32 b) {
  u32 sum;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(0x3f803f80u), "r"(b));
  return sum;
}
#endif

// cvt takes the upper half first.
THRESHER_DEVICE u32 pack_fp16x2(float low, float high) {
  u32 pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

THRESHER_DEVICE u32 pack_bf16x2(float low, float high) {
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

THRESHER_DEVICE u32 unpack_e4m3x2(u32 pair) {
#if THRESHER_PTX_ARCH < 890
  return multiply_fp16x2(e4m3x2_by_bits(pair), kTwoTo8Fp16x2);
#else
  u32 result;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(result) : "h"(static_cast<u16>(pair)));
  return result;
#endif
}

THRESHER_DEVICE float fp16_low(u32 pair) {
  float value;
  asm("{\n"
      ".reg .b16 low, high;\n"
      "mov.b32 {low, high}, %1;\n"
      "cvt.f32.f16 %0, low;\n"
      "}"
      : "=f"(value)
      : "r"(pair));
  return value;
}

THRESHER_DEVICE float fp16_high(u32 pair) { return fp16_low(pair >> 16); }

THRESHER_DEVICE float bits_to_float(u32 bits) { return __uint_as_float(bits); }
THRESHER_DEVICE u32 float_to_bits(float value) { return __float_as_uint(value); }

THRESHER_DEVICE float bf16_low(u32 pair) { return bits_to_float(pair << 16); }
THRESHER_DEVICE float bf16_high(u32 pair) { return bits_to_float(pair & 0xffff0000u); }

THRESHER_DEVICE float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }

// Spelt as moves of halves, the compiler makes them part of the multiplication that follows.
THRESHER_DEVICE u32 low_in_both(u32 pair) {
  u32 result;
  asm("{\n"
      ".reg .b16 low, high;\n"
      "mov.b32 {low, high}, %1;\n"
      "mov.b32 %0, {low, low};\n"
      "}"
      : "=r"(result)
      : "r"(pair));
  return result;
}

THRESHER_DEVICE u32 high_in_both(u32 pair) {
  u32 result;
  asm("{\n"
      ".reg .b16 low, high;\n"
      "mov.b32 {low, high}, %1;\n"
      "mov.b32 %0, {high, high};\n"
      "}"
      : "=r"(result)
      : "r"(pair));
  return result;
}

// As asm: from what shifts leave empty, the compiler makes two instructions of it.
THRESHER_DEVICE u32 select_bits(u32 mask, u32 a, u32 b) {
  u32 result;
  asm("lop3.b32 %0, %1, %2, %3, 0xca;" : "=r"(result) : "r"(mask), "r"(a), "r"(b));
  return result;
}

THRESHER_DEVICE u32 permute_bytes(u32 a, u32 b, u32 selector) {
  u32 result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(selector));
  return result;
}

}  // namespace thresher::gpu::hw
