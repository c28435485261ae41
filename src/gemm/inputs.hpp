// SPDX-License-Identifier: Apache-2.0
// Inputs for a problem, drawn from a seed. Three families:
//   exact:   every partial sum is exact in FP32 in any order, so gemm results compare bit for bit
//            (dual's products are exact as well, but SiLU is not: see compares_bitwise());
//   natural: what quantised gaussian data looks like;
//   full:    all 16 codes and all 254 finite scale codes, negative and subnormal ones included.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "thresher/nvfp4.hpp"
#include "thresher/problem.hpp"

namespace thresher {

enum class InputFamily : std::uint8_t { kExact, kNatural, kFull };

std::string_view to_string(InputFamily family);  // "exact", "natural", "full"

struct GroupInputs {
  Nvfp4Matrix a;                   // Activations::kNvfp4
  std::vector<std::uint16_t> a16;  // Activations::kFp16 and kBf16, m x k row-major
  Nvfp4Matrix b;                   // gemm's weights, dual's gate
  Nvfp4Matrix b_up;                // dual only
  float alpha = 1.0f;
  float alpha_up = 1.0f;
};

struct Inputs {
  std::vector<GroupInputs> groups;
};

Inputs make_inputs(const Problem& problem, InputFamily family, std::uint64_t seed);

}  // namespace thresher
