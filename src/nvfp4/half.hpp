// SPDX-License-Identifier: Apache-2.0
// fp16 and bf16 as bits, to and from float and double. Every conversion to 16 bits rounds once, to
// nearest even; overflow gives infinity, subnormals are kept, and NaN stays NaN with its sign.
// Functions are static for the reason given in small_float.hpp.
//
// Going from double through float would round twice: 1 + 2^-11 + 2^-30 is just above an fp16
// midpoint, and float would put it on the midpoint. The oracle needs the double forms.
#pragma once

#include <bit>
#include <cstdint>

#include "nvfp4/small_float.hpp"

namespace thresher::nvfp4 {

inline constexpr std::uint16_t kFp16Infinity = 0x7c00;
inline constexpr std::uint16_t kFp16QuietNan = 0x7e00;
inline constexpr std::uint16_t kBf16Infinity = 0x7f80;
inline constexpr std::uint16_t kBf16QuietNan = 0x7fc0;

static constexpr float fp16_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t magnitude = bits & 0x7fff;
  if (magnitude >= kFp16Infinity) {  // exponent all ones: infinity, NaN and its payload
    return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ff) << 13);
  }
  if (magnitude < 0x400) {
    const float subnormal = static_cast<float>(magnitude) * 0x1p-24f;
    return sign != 0 ? -subnormal : subnormal;
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + ((127u - 15u) << 23)));
}

static constexpr float bf16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

static constexpr std::uint16_t double_to_fp16(double value) {
  constexpr SmallFloat kFormat{
      .exponent_bias = 15, .mantissa_bits = 10, .magnitude_code_max = kFp16Infinity};
  const std::uint32_t magnitude = is_nan(value) ? kFp16QuietNan : round_magnitude(value, kFormat);
  return static_cast<std::uint16_t>(magnitude | (is_negative(value) ? 0x8000u : 0u));
}

static constexpr std::uint16_t double_to_bf16(double value) {
  constexpr SmallFloat kFormat{
      .exponent_bias = 127, .mantissa_bits = 7, .magnitude_code_max = kBf16Infinity};
  const std::uint32_t magnitude = is_nan(value) ? kBf16QuietNan : round_magnitude(value, kFormat);
  return static_cast<std::uint16_t>(magnitude | (is_negative(value) ? 0x8000u : 0u));
}

static constexpr std::uint16_t float_to_fp16(float value) { return double_to_fp16(value); }
static constexpr std::uint16_t float_to_bf16(float value) { return double_to_bf16(value); }

}  // namespace thresher::nvfp4
