// SPDX-License-Identifier: Apache-2.0
// Which variant of Blackwell's kernel runs a problem when nobody says, and those that have a name.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/gemm/variant.hpp"

namespace thresher::gpu::sm100 {

// All that it can be, but for a problem that none of them can run.
std::vector<Variant> choices();

// `token_limit` bounds the tokens of all groups together; where the groups say how many each has,
// it is their sum.
Variant choose(const Problem& problem, std::int64_t token_limit, const SmLimits& limits);

// The default and the knobs turned away from it, one or a few at a time.
std::vector<Variant> named_variants();

// Where a season starts: as few stages as there can be, a launch per group, two passes.
Variant baseline();

}  // namespace thresher::gpu::sm100
