// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/routing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "checkpoint/matrix.hpp"
#include "checkpoint/state.hpp"
#include "thresher/error.hpp"

namespace thresher::checkpoint {
namespace {

constexpr std::size_t kFaultsMax = 8;

std::optional<RouteScore> score_called(std::string_view word) {
  if (word == "softmax") return RouteScore::kSoftmax;
  if (word == "sigmoid") return RouteScore::kSigmoid;
  if (word == "sqrtsoftplus") return RouteScore::kSqrtSoftplus;
  return {};
}

// The name of a tensor that is there and has this shape, or nothing: readers take a bias to have a
// value for every expert. Where the experts themselves are not known, no shape is.
std::string tensor_of_shape(const State& state, const std::string& module, std::string_view name,
                            const std::vector<std::int64_t>& shape, CheckpointLayer& layer) {
  if (name.empty()) return {};
  const std::string full = module + "." + std::string(name);
  const Tensor* tensor = state.find(full);
  if (tensor == nullptr) return {};
  if (layer.hidden == 0) return full;
  try {
    need_floats(state, *tensor);
    need_shape(state, *tensor, shape);
  } catch (const Error& error) {
    add_fault(layer, error.what());
    return {};
  }
  return full;
}

// The router sees the model's hidden state; of latent experts nobody knows its extent.
std::int64_t router_columns(const State& state, const std::string& name,
                            const CheckpointLayer& layer) {
  const Tensor* tensor = state.find(name);
  const bool is_latent = state.config().is_latent && tensor != nullptr && tensor->shape.size() == 2;
  return is_latent ? tensor->shape[1] : layer.hidden;
}

void find_tensors(const State& state, const Family& family, const std::string& module,
                  CheckpointLayer& layer) {
  const std::int64_t experts = layer.expert_count;
  const std::int64_t columns =
      router_columns(state, module + "." + std::string(family.router_weight), layer);
  layer.router_weight =
      tensor_of_shape(state, module, family.router_weight, {experts, columns}, layer);
  layer.router_bias = tensor_of_shape(state, module, family.router_bias, {experts}, layer);
  layer.router_logits_bias =
      tensor_of_shape(state, module, family.router_logits_bias, {experts}, layer);
  layer.shared_gate = tensor_of_shape(state, module, family.shared_gate, {1, columns}, layer);
}

// By the router's own rules; where config.json does not say how many are chosen, the rest of them.
void check_route(const Config& config, CheckpointLayer& layer) {
  RouteOptions options = layer.route;
  if (options.expert_count == 0) return;  // a fault already
  if (!config.top_k) options.top_k = 1;
  try {
    route({}, options, {}, {});
  } catch (const Error& error) {
    add_fault(layer, fmt::format("config.json: {}", error.what()));
  }
}

}  // namespace

bool has_faults_enough(const CheckpointLayer& layer) { return layer.faults.size() > kFaultsMax; }

void add_fault(CheckpointLayer& layer, std::string fault) {
  if (layer.faults.size() == kFaultsMax) fault = "and more of this kind";
  if (!has_faults_enough(layer)) layer.faults.push_back(std::move(fault));
}

float positive_value(double value, const char* name, float otherwise, CheckpointLayer& layer) {
  if (value >= std::numeric_limits<float>::min() && value <= std::numeric_limits<float>::max()) {
    return static_cast<float>(value);
  }
  add_fault(layer,
            fmt::format("config.json: {} = {} is not a positive number of FP32", name, value));
  return otherwise;
}

void describe_router(const State& state, const Family& family, const std::string& module,
                     CheckpointLayer& layer) {
  const Config& config = state.config();
  const std::optional<RouteScore> said = score_called(config.scoring);
  if (!said && !config.scoring.empty()) {
    add_fault(layer, fmt::format("config.json: scoring_func = '{}'; softmax, sigmoid and "
                                 "sqrtsoftplus are known",
                                 config.scoring));
  }
  layer.route = {
      .expert_count = layer.expert_count,
      .top_k = config.top_k.value_or(0),
      .score = said.value_or(family.score),
      .renormalize = config.renormalize.value_or(family.renormalize),
      .scaling = positive_value(config.scaling.value_or(1.0), "routed_scaling_factor", 1.0f, layer),
      .group_count = std::max<std::int64_t>(1, config.group_count.value_or(1)),
      .groups_kept = std::max<std::int64_t>(1, config.groups_kept.value_or(1))};
  // A softmax of the chosen adds up to one by itself, and a router of one slot keeps its score.
  if (family.score == RouteScore::kSoftmaxOfChosen || family.weight_on_input) {
    layer.route.score = family.score;
    layer.route.renormalize = false;
  }
  check_route(config, layer);
  layer.options.top_k = config.top_k.value_or(0);
  layer.options.router_experts = layer.expert_count;
  find_tensors(state, family, module, layer);
}

}  // namespace thresher::checkpoint
