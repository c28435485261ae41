// SPDX-License-Identifier: Apache-2.0
// SiLU in FP32, step for step as in cpu/finish.hpp, so that both backends give the same bits. No
// step may be contracted into a fused multiply-add.
#pragma once

#include "gpu/hw/hw.cuh"

namespace thresher::gpu {

// exp(-x) for x >= 0, within 2 ulp; below 2^-126 it is 0.
THRESHER_DEVICE float exp_negative(float x) {
  constexpr float kFlushAbove = 87.3f;
  constexpr float kLog2E = 1.44269504f;
  constexpr float kLn2High = 0.693359375f;  // 9 bits: n * kLn2High is exact
  constexpr float kLn2Low = -2.12194440e-4f;
  constexpr float kRoundMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const float clamped = x < kFlushAbove ? x : kFlushAbove;
  const float shifted = clamped * -kLog2E + kRoundMagic;
  const float n = shifted - kRoundMagic;
  const float r = (-clamped - n * kLn2High) - n * kLn2Low;
  float p = r * (1.0f / 5040.0f) + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  // 2^n: the lowest bits of `shifted` are those of n, and the magic number's are zeros.
  const float power = hw::bits_to_float((hw::float_to_bits(shifted) << 23) + (127u << 23));
  return x < kFlushAbove ? p * power : 0.0f;
}

// n / d as IEEE rounds it, for d from 1 to 2 that is exactly 2 whenever the quotient is subnormal.
// The compiler's division calls a function for the rare cases, around which it keeps sums in
// memory; here they need no branch. Small n are scaled up so that remainders are exact; scaling
// back rounds a subnormal quotient, but then halving n did not.
THRESHER_DEVICE float divide(float n, float d) {
  const bool is_small = n < 0x1p-96f && n > -0x1p-96f;
  const float scaled = is_small ? n * 0x1p64f : n;
  float r = hw::reciprocal(d);
  r = hw::fma(r, hw::fma(-d, r, 1.0f), r);
  // The only d whose reciprocal, if it is off by an ulp, leads to a wrong quotient.
  if (d == 0x1.fffffep+0f) r = 0x1.000002p-1f;
  float q = scaled * r;
  q = hw::fma(hw::fma(-d, q, scaled), r, q);
  q = hw::fma(hw::fma(-d, q, scaled), r, q);
  const bool is_infinite = scaled - scaled != 0.0f && scaled == scaled;
  if (n == 0.0f || is_infinite) return n;  // the remainder would lose a zero's sign
  return is_small ? q * 0x1p-64f : q;
}

// g / (1 + exp(-g)) through exp(-|g|), which cannot overflow.
THRESHER_DEVICE float silu(float g) {
  const float t = exp_negative(g < 0.0f ? -g : g);
  return divide(g * (g < 0.0f ? t : 1.0f), 1.0f + t);
}

}  // namespace thresher::gpu
