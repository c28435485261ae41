// SPDX-License-Identifier: Apache-2.0
// Mixture-of-experts layers of known models, by their numbers, and their products as problems.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "thresher/moe.hpp"

namespace thresher::measure {

struct LayerModel {
  std::string name;
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  std::int64_t expert_count = 0;  // in this layer
  std::int64_t top_k = 0;
  std::int64_t router_experts = 0;  // that ids are drawn from; 0: as many as there are
  MoeActivation activation = MoeActivation::kSilu;
  bool biases = false;

  std::int64_t id_count() const { return router_experts == 0 ? expert_count : router_experts; }
  double expert_bytes() const;  // of weights
};

const std::vector<LayerModel>& layer_models();
// A model's name, or "HIDDENxINTERMEDIATExEXPERTSxTOP_K". Throws Error listing the names.
LayerModel layer_model_from_text(std::string_view text);

// The products of a layer as problems of their own, with the rows that a router which prefers
// nobody would give them: what a layer asks the engine to choose a variant for. Gate and up, then
// down, for calls of so many tokens: "mixtral-8x7b_gate_up_t16" and "mixtral-8x7b_down_t16".
std::vector<Problem> layer_problems(const LayerModel& model, Activations activations,
                                    std::int64_t tokens);

}  // namespace thresher::measure
