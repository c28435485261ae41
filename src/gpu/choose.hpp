// SPDX-License-Identifier: Apache-2.0
// Which variant runs a problem when nobody says.
#pragma once

#include <cstdint>

#include "gpu/variant.hpp"

namespace thresher::gpu {

// `token_limit` bounds the tokens of all groups together; where the groups say how many each has,
// it is their sum.
Variant choose(const Problem& problem, std::int64_t token_limit, const DeviceLimits& limits);

}  // namespace thresher::gpu
