// SPDX-License-Identifier: Apache-2.0
// How a layer's tokens find their experts: the router's tensors, and what config.json says of it.
#pragma once

#include <string>

#include "checkpoint/families.hpp"
#include "thresher/checkpoint.hpp"

namespace thresher::checkpoint {

class State;

// Fills in the layer's route, its router's tensors and what of its options a router decides. Values
// that make no sense and tensors of another shape become faults; the experts are described already.
void describe_router(const State& state, const Family& family, const std::string& module,
                     CheckpointLayer& layer);

// One more fault of a layer, as long as there are few: a broken file breaks all its experts.
void add_fault(CheckpointLayer& layer, std::string fault);
bool has_faults_enough(const CheckpointLayer& layer);

// A number of config.json as a positive FP32 value; what is none becomes a fault, and `otherwise`.
float positive_value(double value, const char* name, float otherwise, CheckpointLayer& layer);

}  // namespace thresher::checkpoint
