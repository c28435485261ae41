// SPDX-License-Identifier: Apache-2.0
// bench --layer: mixture-of-experts layers, from one token to many.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/layer_trial.hpp"
#include "thresher/engine.hpp"

namespace thresher::cli {

struct LayerBenchOptions {
  std::vector<std::string> layers;  // names, shapes, or "all"
  std::vector<int> token_counts;
  std::string activations;  // empty: bf16
  int expert_limit = 0;
  std::string routing = "uniform";
  bool batch_invariant = false;
  measure::Surroundings surroundings = measure::Surroundings::kBackToBack;
  bool graph = true;
  double seconds = 1;
  std::uint64_t seed = 1;
  bool json = false;
};

// Names of known models, shapes, or "all". Throws UsageError.
std::vector<measure::LayerModel> layer_models_of(const std::vector<std::string>& texts);
// "1,16" and "64" are 1, 16 and 64. Throws UsageError.
std::vector<int> token_counts_of(const std::vector<std::string>& texts);

// Prints a table, or a JSON object per line.
void bench_layers(const Engine& engine, const LayerBenchOptions& options);

}  // namespace thresher::cli
