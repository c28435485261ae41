// SPDX-License-Identifier: Apache-2.0
// Which variant runs a problem when nobody says.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/sm90/model.hpp"
#include "gpu/sm90/variant.hpp"

namespace thresher::gpu::sm90 {

// All that it can be, but for a problem that none of them can run.
std::vector<Variant> choices();

// `token_limit` bounds the tokens of all groups together; where the groups say how many each has,
// it is their sum.
Variant choose(const Problem& problem, std::int64_t token_limit, const SmLimits& limits);

// How an architecture chooses: by these times, with a balanced schedule where that is possible.
struct ChoiceRule {
  const TileTimes& times;
  bool (*may_have_parts)(const GemmKnobs& knobs);
  std::string (*why_not)(const GemmKnobs& knobs, const PlanRequest& request);
};

// Of the shapes, with either schedule, the one that should be done first; `otherwise` if none can
// run the problem.
GemmKnobs soonest(const std::vector<GemmKnobs>& shapes, const GemmKnobs& otherwise,
                  const PlanRequest& request, const ChoiceRule& rule);

}  // namespace thresher::gpu::sm90
