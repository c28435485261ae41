// SPDX-License-Identifier: Apache-2.0
// Mixture-of-experts layers of known models, timed: the whole layer, and its products alone.
//
// Weights are random and every expert has its own memory. Calls take turns at several sets of ids,
// so that a call finds little of its experts in a cache: to the instrument a set is a copy, and the
// layer and its products are entrants. A token is held to the oracle before and after.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "measure/clock.hpp"
#include "measure/statistics.hpp"
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

struct LayerTrialOptions {
  Activations activations = Activations::kBf16;
  std::int64_t tokens_max = 1;
  std::int64_t expert_limit = 0;  // 0: all of the model's
  bool skewed = false;            // a few experts get most tokens
  bool batch_invariant = false;
  Surroundings surroundings = Surroundings::kBackToBack;
  bool graph = true;
  double seconds = 1;  // per number of tokens
  std::uint64_t seed = 1;
};

struct LayerTiming {
  std::int64_t token_count = 0;
  MedianInterval us;           // of a call
  MedianInterval products_us;  // of its products alone; zeros where they would be found in a cache
  double host_us = 0;          // on a GPU: to queue a call
  double experts_touched = 0;  // mean over the sets of ids
  double rows = 0;             // likewise
  double weight_bytes = 0;     // of the experts touched
  double operations = 0;
  double error_over_bound = 0;
  std::int64_t launch_count = 0;
  std::vector<std::string> variants;
  std::string timed;  // how
};

class LayerTrial {
 public:
  LayerTrial(const Engine& engine, const LayerModel& model, const LayerTrialOptions& options);
  ~LayerTrial();

  const LayerModel& model() const;  // with the experts that are left
  std::size_t weight_bytes() const;
  std::size_t workspace_bytes() const;
  // Throws Error if a token is wrong.
  LayerTiming run(std::int64_t token_count);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace thresher::measure
