// SPDX-License-Identifier: Apache-2.0
// New inputs out of old ones: flipped bits, deletions, repeats, splices, nesting, huge numbers, and
// lines that are still TOML but no longer a suite.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gemm/random.hpp"

namespace thresher::fuzz {

inline constexpr std::size_t kInputBytesMax = std::size_t{2} << 20;

std::string mutate(Random& random, const std::vector<std::string>& corpus);

}  // namespace thresher::fuzz
