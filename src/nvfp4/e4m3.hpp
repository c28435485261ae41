// SPDX-License-Identifier: Apache-2.0
// E4M3 (the "fn" kind), the block scale of NVFP4: sign, four exponent bits with bias 7, three
// mantissa bits. Largest value 448, smallest subnormal 2^-9, no infinity; 0x7f and 0xff are NaN.
// Functions are static for the reason given in small_float.hpp.
#pragma once

#include <bit>
#include <cstdint>

#include "nvfp4/small_float.hpp"

namespace thresher::nvfp4 {

inline constexpr float kE4m3Max = 448.0f;
inline constexpr std::uint8_t kE4m3MaxCode = 0x7e;
inline constexpr std::uint8_t kE4m3LeastCode = 0x01;  // 2^-9
inline constexpr std::uint8_t kE4m3NanCode = 0x7f;

static constexpr bool is_nan_e4m3(std::uint8_t code) { return (code & 0x7f) == kE4m3NanCode; }

static constexpr float decode_e4m3(std::uint8_t code) {
  const std::uint32_t sign = static_cast<std::uint32_t>(code & 0x80) << 24;
  const std::uint32_t magnitude = code & 0x7f;
  if (magnitude == kE4m3NanCode) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (magnitude < 8) {
    const float subnormal = static_cast<float>(magnitude) * 0x1p-9f;
    return sign != 0 ? -subnormal : subnormal;
  }
  // Exponent and mantissa side by side, as FP32 wants them: move them up and change the bias.
  return std::bit_cast<float>(sign | ((magnitude << 20) + ((127u - 7u) << 23)));
}

// To nearest even, saturating at +-448 as checkpoint makers do (infinity too). The sign is kept,
// that of zero included; NaN becomes 0x7f or 0xff.
static constexpr std::uint8_t encode_e4m3(double value) {
  constexpr SmallFloat kFormat{
      .exponent_bias = 7, .mantissa_bits = 3, .magnitude_code_max = kE4m3MaxCode};
  const std::uint32_t magnitude = is_nan(value) ? kE4m3NanCode : round_magnitude(value, kFormat);
  return static_cast<std::uint8_t>(magnitude | (is_negative(value) ? 0x80u : 0u));
}

}  // namespace thresher::nvfp4
