// SPDX-License-Identifier: Apache-2.0
// The rule by which an architecture chooses among its shapes of tiles, in words: of all of them,
// and of both schedules, take the one that should be done first by the model of time (model.hpp).
#pragma once

#include <string>
#include <vector>

#include "gpu/gemm/model.hpp"

namespace thresher::gpu {

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

}  // namespace thresher::gpu
