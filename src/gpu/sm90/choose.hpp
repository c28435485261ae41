// SPDX-License-Identifier: Apache-2.0
// Which variant runs a problem when nobody says.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/sm90/variant.hpp"

namespace thresher::gpu::sm90 {

// All that it can be, but for a problem that none of them can run.
std::vector<Variant> choices();

// `token_limit` bounds the tokens of all groups together; where the groups say how many each has,
// it is their sum.
Variant choose(const Problem& problem, std::int64_t token_limit, const SmLimits& limits);

}  // namespace thresher::gpu::sm90
