// SPDX-License-Identifier: Apache-2.0
// E2M1, the 4-bit value of NVFP4: sign in bit 3, then two exponent bits and one mantissa bit. There
// is no NaN and no infinity. Functions are static for the reason given in small_float.hpp.
#pragma once

#include <cstdint>

#include "nvfp4/small_float.hpp"

namespace thresher::nvfp4 {

inline constexpr float kE2m1Max = 6.0f;
inline constexpr float kE2m1Magnitudes[8] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};

// Reads the low four bits of `code`. Code 8 is -0.
static constexpr float decode_e2m1(std::uint8_t code) {
  const float magnitude = kE2m1Magnitudes[code & 7];
  return (code & 8) != 0 ? -magnitude : magnitude;
}

// To nearest, ties to the even code, saturating at +-6. The sign bit is kept even where the
// magnitude rounds to zero, -0 included. NaN has no code: refuse it before.
static constexpr std::uint8_t encode_e2m1(double value) {
  const double magnitude = value < 0 ? -value : value;
  // One step per midpoint between neighbours; a midpoint itself belongs to its even neighbour.
  const int steps = (magnitude > 0.25) + (magnitude >= 0.75) + (magnitude > 1.25) +
                    (magnitude >= 1.75) + (magnitude > 2.5) + (magnitude >= 3.5) +
                    (magnitude > 5.0);
  return static_cast<std::uint8_t>(steps | (is_negative(value) ? 8 : 0));
}

}  // namespace thresher::nvfp4
