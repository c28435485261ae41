// SPDX-License-Identifier: Apache-2.0
// SiLU in FP32, step for step as in cpu/finish.hpp, so that both backends give the same bits. What
// is fused there is fused here, and nothing else.
#pragma once

#include "gpu/hw/hw.cuh"

namespace thresher::gpu {

// exp(-x) for x >= 0, within 2 ulp; below 2^-126 it is 0.
THRESHER_DEVICE float exp_negative(float x) {
  constexpr float kFlushAbove = 87.3f;
  constexpr float kLog2E = 1.44269504f;
  constexpr float kLn2High = 0.693147182f;
  constexpr float kLn2Low = -1.90465421e-9f;
  constexpr float kRoundMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const float shifted = hw::fma(x, -kLog2E, kRoundMagic);
  const float n = shifted - kRoundMagic;
  const float r = hw::fma(n, -kLn2Low, hw::fma(n, -kLn2High, -x));
  float p = hw::fma(r, 0.00829029009f, 0.0418980622f);
  p = hw::fma(p, r, 0.166676373f);
  p = hw::fma(p, r, 0.499991486f);
  p = hw::fma(p, r, 0.999999707f);
  p = hw::fma(p, r, 1.0f);
  // Times 2^n: the lowest bits of `shifted` are those of n.
  const u32 scaled = hw::float_to_bits(p) + (hw::float_to_bits(shifted) << 23);
  return x < kFlushAbove ? hw::bits_to_float(scaled) : 0.0f;
}

// 1 / d for d from 1 to 2, within 1 ulp: a parabola, and two steps of Newton's.
THRESHER_DEVICE float reciprocal(float d) {
  float r = hw::fma(hw::fma(0.323232323f, d, -1.45454545f), d, 2.12121212f);
  r = hw::fma(r, hw::fma(-d, r, 1.0f), r);
  return hw::fma(r, hw::fma(-d, r, 1.0f), r);
}

// g / (1 + exp(-g)) through exp(-|g|), which cannot overflow.
THRESHER_DEVICE float silu(float g) {
  const float t = exp_negative(g < 0.0f ? -g : g);
  return g * ((g < 0.0f ? t : 1.0f) * reciprocal(1.0f + t));
}

}  // namespace thresher::gpu
