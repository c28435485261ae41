// SPDX-License-Identifier: Apache-2.0
// The experts of a layer on a device: checked, packed, with their scales and biases side by side.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/layer.hpp"
#include "thresher/engine.hpp"
#include "thresher/moe.hpp"

namespace thresher::moe {

struct PackedLayer {
  backend::LayerShape shape;
  // One per group, shared experts last. Gate and up are packed as one where the engine's dual
  // product does all that stands between; otherwise `first` is the gate, if there is one.
  std::vector<Weights> first;
  std::vector<Weights> up;
  std::vector<Weights> down;
  // One per group.
  std::vector<float> input_scales;
  std::vector<float> down_input_scales;
  // Rows of all groups, empty where nobody has any; a group without one has zeros.
  std::vector<float> gate_biases;
  std::vector<float> up_biases;
  std::vector<float> down_biases;

  std::size_t weight_bytes() const;
};

// Throws Error naming the expert and what is wrong with it.
PackedLayer pack_layer(const Engine& engine, const MoeSource& source, const MoeOptions& options);

}  // namespace thresher::moe
