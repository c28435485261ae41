// SPDX-License-Identifier: Apache-2.0
#include "gemm/factor.hpp"

#include <fmt/format.h>

#include <cmath>

namespace thresher {

std::string why_not_factor(const char* name, float alpha, double factor) {
  if (!std::isfinite(alpha)) return fmt::format("{} = {} is not finite", name, alpha);
  if (std::abs(factor) <= kFactorMax) return {};
  return fmt::format("{} times the global scales = {:.3g} is beyond 2^96", name, factor);
}

}  // namespace thresher
