// SPDX-License-Identifier: Apache-2.0
// From which values a family of inputs draws: tables that turn a random byte into an E2M1 code or
// an E4M3 scale, and the range of 16-bit activations. gemm/inputs.cpp does the drawing.
#pragma once

#include <array>
#include <cstdint>

#include "gemm/inputs.hpp"

namespace thresher {

using ByteTable = std::array<std::uint8_t, 256>;

struct Nvfp4Recipe {
  ByteTable codes;
  ByteTable scales;
};

Nvfp4Recipe nvfp4_recipe(InputFamily family, std::int64_t k);

// Root mean square of what the recipe draws: it tells how large a sum of k products will be.
double rms_of(const Nvfp4Recipe& recipe);

// Exact 16-bit activations are the integers -a16_max..a16_max.
int exact_a16_max(std::int64_t k);

}  // namespace thresher
