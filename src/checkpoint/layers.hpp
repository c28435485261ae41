// SPDX-License-Identifier: Apache-2.0
// Finds the mixture-of-experts layers of a checkpoint by the names of its tensors, and loads
// experts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/stack.hpp"
#include "thresher/checkpoint.hpp"

namespace thresher::checkpoint {

class State;

// No byte of a weight is read: only names, types and shapes.
std::vector<CheckpointLayer> find_layers(const State& state);

CheckpointExpert load_expert(const State& state, const CheckpointLayer& layer, std::int64_t index);
// Has the system begin to read an expert that will be loaded soon. One that is not there is none.
void prefetch_expert(const State& state, const CheckpointLayer& layer, std::int64_t index);
CheckpointExpert load_shared_expert(const State& state, const CheckpointLayer& layer);

// The modules of an expert, "model.layers.3.mlp.experts.7.gate_proj"; gate is empty without one.
struct ExpertModules {
  std::string gate;
  std::string up;
  std::string down;
};

// Those of all experts, shared ones included, that have matrices of their own and are not NVFP4
// yet. Throws Error with the first fault of a layer, and where experts are stored in a way that
// cannot be rounded.
std::vector<ExpertModules> plain_experts(const State& state);

// A layer's experts that lie in stacks and are not NVFP4.
struct PlainStacks {
  std::string prefix;  // "model.layers.3.mlp.experts"
  StoredStack gate_up;
  StoredStack down;
  bool interleaved = false;     // rows of gate and up take turns
  bool modelopt_keeps = false;  // ModelOpt writes such experts as stacks
  // What the projections of an expert with matrices of its own are called.
  std::string gate;
  std::string up;
  std::string down_name;
};

std::vector<PlainStacks> plain_stacks(const State& state);

}  // namespace thresher::checkpoint
