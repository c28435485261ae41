// SPDX-License-Identifier: Apache-2.0
// Which of Hopper's variants runs a problem when nobody says, and those that have a name.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/gemm/variant.hpp"

namespace thresher::gpu::sm90 {

// All that it can be, but for a problem that none of them can run.
std::vector<Variant> choices();

// `token_limit` bounds the tokens of all groups together; where the groups say how many each has,
// it is their sum.
Variant choose(const Problem& problem, std::int64_t token_limit, const SmLimits& limits);

// The default and each knob turned away from it, one at a time.
std::vector<Variant> named_variants();

// Where the seeds began: one stage, no roles, a launch per group, two passes for a dual problem.
Variant baseline();

}  // namespace thresher::gpu::sm90
