// SPDX-License-Identifier: Apache-2.0
// Finds the mixture-of-experts layers of a checkpoint by the names of its tensors, and loads
// experts.
#pragma once

#include <cstdint>
#include <vector>

#include "thresher/checkpoint.hpp"

namespace thresher::checkpoint {

class State;

// No byte of a weight is read: only names, types and shapes.
std::vector<CheckpointLayer> find_layers(const State& state);

CheckpointExpert load_expert(const State& state, const CheckpointLayer& layer, std::int64_t index);
CheckpointExpert load_shared_expert(const State& state, const CheckpointLayer& layer);

}  // namespace thresher::checkpoint
