// SPDX-License-Identifier: Apache-2.0
// What multiplies a product of expanded operands: global scales and alpha, as SGEMM's own alpha.
#pragma once

#include "gemm/inputs.hpp"
#include "thresher/problem.hpp"

namespace thresher::bench {

struct ProductFactors {
  float gate = 1.0f;  // gemm's only one
  float up = 1.0f;
};

// Multiplied in double, so that a tiny scale and a large alpha meet before they are rounded.
inline ProductFactors product_factors(const Problem& problem, const GroupInputs& inputs) {
  const bool is_nvfp4 = problem.activations == Activations::kNvfp4;
  const double a_scale = is_nvfp4 ? inputs.a.global_scale : 1.0;
  return {.gate = static_cast<float>(a_scale * inputs.b.global_scale * inputs.alpha),
          .up = static_cast<float>(a_scale * inputs.b_up.global_scale * inputs.alpha_up)};
}

}  // namespace thresher::bench
