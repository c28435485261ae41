// SPDX-License-Identifier: Apache-2.0
// The products of a mixture-of-experts layer as problems of their own, with the rows that a router
// which prefers nobody would give them: what a layer asks the engine to choose a variant for.
#pragma once

#include <cstdint>
#include <vector>

#include "measure/layer_trial.hpp"

namespace thresher::measure {

// Gate and up, then down, for calls of so many tokens: "mixtral-8x7b_gate_up_t16" and
// "mixtral-8x7b_down_t16".
std::vector<Problem> layer_problems(const LayerModel& model, Activations activations,
                                    std::int64_t tokens);

}  // namespace thresher::measure
