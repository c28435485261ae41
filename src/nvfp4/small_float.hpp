// SPDX-License-Identifier: Apache-2.0
// Rounds a double once, to nearest even, to a binary format of at most 16 bits. E4M3, fp16 and bf16
// are this one function with different numbers; a float widens to double exactly, so it is rounded
// once as well.
//
// The functions of this folder's headers are static on purpose: they are included where code is
// compiled for one instruction set, and a shared inline copy could be linked into code that must
// run without it.
#pragma once

#include <bit>
#include <cstdint>

namespace thresher::nvfp4 {

struct SmallFloat {
  int exponent_bias;
  int mantissa_bits;
  std::uint32_t magnitude_code_max;  // what too large values become: infinity or the largest code
};

static constexpr bool is_nan(double value) { return value != value; }

static constexpr bool is_negative(double value) {
  return (std::bit_cast<std::uint64_t>(value) >> 63) != 0;
}

// The code of |value| without its sign bit. NaN is the caller's to handle.
static constexpr std::uint32_t round_magnitude(double value, const SmallFloat& format) {
  constexpr int kDoubleMantissaBits = 52;
  constexpr int kDoubleBias = 1023;
  constexpr std::uint64_t kImplicitBit = std::uint64_t{1} << kDoubleMantissaBits;

  // Subnormal doubles read here as if they had an implicit bit; they are far below half of any
  // small format's least value and round to zero either way.
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  const int exponent = static_cast<int>((bits >> kDoubleMantissaBits) & 0x7ff) - kDoubleBias;
  const std::uint64_t significand = (bits & (kImplicitBit - 1)) | kImplicitBit;

  // Below the smallest normal exponent the spacing no longer shrinks: more bits are dropped.
  const int exponent_min = 1 - format.exponent_bias;
  const int bits_below_normal = exponent < exponent_min ? exponent_min - exponent : 0;
  const int shift = kDoubleMantissaBits - format.mantissa_bits + bits_below_normal;
  if (shift > kDoubleMantissaBits + 1) return 0;  // less than half of the least value

  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  const std::uint64_t dropped = significand & (2 * half - 1);
  std::uint64_t kept = significand >> shift;
  if (dropped > half || (dropped == half && (kept & 1) != 0)) ++kept;

  // `kept` carries the implicit bit of a normal value, which counts as one in the exponent field; a
  // carry out of the rounding moves to the next exponent, and from subnormal to normal, by itself.
  const int exponent_field = exponent < exponent_min ? 0 : exponent - exponent_min;
  const std::uint64_t code =
      (static_cast<std::uint64_t>(exponent_field) << format.mantissa_bits) + kept;
  return code < format.magnitude_code_max ? static_cast<std::uint32_t>(code)
                                          : format.magnitude_code_max;
}

}  // namespace thresher::nvfp4
