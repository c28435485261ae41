// SPDX-License-Identifier: Apache-2.0
// Which models call their experts what: one row per family.
//
// Inside a layer ("model.layers.3."), a family has a module ("mlp"), in it experts with three
// projections each, a router, and perhaps a shared expert. Rows that agree in the names of their
// experts are told apart by config.json's model_type, and without one by `marker`.
#pragma once

#include <limits>
#include <span>
#include <string_view>

#include "thresher/moe.hpp"

namespace thresher::checkpoint {

struct Family {
  std::string_view name;
  std::string_view model_types;  // separated by blanks
  std::string_view module = "mlp";
  std::string_view gate = "gate_proj";  // empty: no gate
  std::string_view up = "up_proj";
  std::string_view down = "down_proj";
  std::string_view marker = "";  // empty: all that carry no other row's
  std::string_view router_weight = "gate.weight";
  std::string_view router_bias = "";  // for the choice alone
  std::string_view router_logits_bias = "";
  std::string_view shared = "";
  std::string_view shared_gate = "";
  bool interleaved = false;      // stacked experts: rows of gate and up alternate
  bool modelopt_stacks = false;  // ModelOpt writes its experts as stacks
  MoeActivation activation = MoeActivation::kSilu;
  float alpha = 1;
  float beta = 0;
  float limit = std::numeric_limits<float>::infinity();  // unless config.json says another
  RouteScore score = RouteScore::kSoftmax;
  bool renormalize = true;  // unless config.json says otherwise
  bool weight_on_input = false;
};

std::span<const Family> families();

// Null: there is none.
const Family* family_called(std::string_view name);
const Family* family_of_model(std::string_view model_type);

}  // namespace thresher::checkpoint
