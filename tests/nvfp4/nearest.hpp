// SPDX-License-Identifier: Apache-2.0
// Nearest, ties to even, by its definition: try every code. Slow and obvious on purpose.
#pragma once

#include <cmath>

namespace thresher::nvfp4 {

// The code c in 0..code_count-1 for which values(c) lies nearest to `target`; of two equally near
// ones the even code. The caller sees to it that the distances are exact in double.
template <typename Values>
int nearest_code(double target, int code_count, Values values) {
  int best = 0;
  for (int code = 1; code < code_count; ++code) {
    const double distance = std::fabs(values(code) - target);
    const double best_distance = std::fabs(values(best) - target);
    if (distance < best_distance || (distance == best_distance && code % 2 == 0)) best = code;
  }
  return best;
}

}  // namespace thresher::nvfp4
