// SPDX-License-Identifier: Apache-2.0
// Which elements of the outputs to look at when looking at all of them would take too long.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "thresher/problem.hpp"

namespace thresher {

// Ordered by column before row: decoding a column's weights is what a check does least often.
struct Place {
  std::int64_t column = 0;
  std::int64_t row = 0;

  auto operator<=>(const Place&) const = default;
};

// For each group its sorted places, each once: the four corners, where kernels go wrong, and then
// places drawn from all groups by size until there are `sample_count`.
std::vector<std::vector<Place>> sample_places(const Problem& problem, std::int64_t sample_count,
                                              std::uint64_t seed);

}  // namespace thresher
