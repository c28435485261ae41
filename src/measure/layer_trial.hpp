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
#include <vector>

#include "measure/clock.hpp"
#include "measure/layer_model.hpp"
#include "measure/statistics.hpp"
#include "thresher/moe.hpp"

namespace thresher::measure {

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
  // What a call costs beside its work, the best of some passes: on a GPU, to queue it; on a CPU,
  // checks, cuts and threads that are sent off, without what is done to ids and rows.
  double host_us = 0;
  double sort_us = 0;          // what is done to ids; 0 where it is a kernel's work
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
