// SPDX-License-Identifier: Apache-2.0
// What the sums of a group are multiplied by: alpha and the global scales, in double, so that they
// are rounded once whatever the order of their parts.
#pragma once

#include <string>

namespace thresher {

// A factor may not overflow FP32, or sums of zero would become NaN; the margin is for the powers of
// two that kernels multiply into it.
inline constexpr double kFactorMax = 0x1p96;

// Empty, or why no kernel can take it. `name` is "alpha" or "alpha_up".
std::string why_not_factor(const char* name, float alpha, double factor);

}  // namespace thresher
