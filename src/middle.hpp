// SPDX-License-Identifier: Apache-2.0
// The middle of some values, for those who may not know measure/statistics.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace thresher {

// The upper one of two. `values` may not be empty.
inline double upper_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace thresher
