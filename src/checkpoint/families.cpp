// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families.hpp"

#include <algorithm>

namespace thresher::checkpoint {
namespace {

constexpr Family kFamilies[] = {
    {.name = "qwen_shared",
     .model_types = "qwen2_moe qwen3_next qwen3_5_moe qwen3_5_moe_text qwen3_6_moe "
                    "qwen3_6_moe_text qwen3_8_moe qwen3_8_moe_text",
     .marker = "shared_expert_gate.weight",
     .shared = "shared_expert",
     .shared_gate = "shared_expert_gate.weight"},
    {.name = "deepseek",
     .model_types = "deepseek_v2 deepseek_v3 deepseek_v32 glm4_moe glm4_moe_lite glm_moe_dsa "
                    "kimi_k2 kimi_k25 mistral4",
     .marker = "gate.e_score_correction_bias",
     .router_bias = "gate.e_score_correction_bias",
     .shared = "shared_experts",
     .score = RouteScore::kSigmoid},
    {.name = "gpt_oss",
     .model_types = "gpt_oss",
     .marker = "router.weight",
     .router_weight = "router.weight",
     .router_logits_bias = "router.bias",
     .interleaved = true,
     .modelopt_stacks = true,
     .activation = MoeActivation::kClampedSilu,
     .alpha = 1.702f,
     .beta = 1,
     .limit = 7,
     .score = RouteScore::kSoftmaxOfChosen,
     .renormalize = false},
    {.name = "qwen", .model_types = "qwen3_moe qwen3_vl_moe qwen3_vl_moe_text"},
    {.name = "minimax",
     .model_types = "minimax_m2",
     .module = "block_sparse_moe",
     .gate = "w1",
     .up = "w3",
     .down = "w2",
     .marker = "e_score_correction_bias",
     .router_bias = "e_score_correction_bias",
     .score = RouteScore::kSigmoid},
    {.name = "mixtral",
     .model_types = "mixtral",
     .module = "block_sparse_moe",
     .gate = "w1",
     .up = "w3",
     .down = "w2"},
    {.name = "deepseek_v4",
     .model_types = "deepseek_v4",
     .module = "ffn",
     .gate = "w1",
     .up = "w3",
     .down = "w2",
     .router_bias = "gate.bias",
     .shared = "shared_experts",
     .activation = MoeActivation::kClampedSilu,
     .limit = 10,
     .score = RouteScore::kSqrtSoftplus},
    {.name = "nemotron",
     .model_types = "nemotron_h",
     .module = "mixer",
     .gate = "",
     .router_bias = "gate.e_score_correction_bias",
     .shared = "shared_experts",
     .activation = MoeActivation::kSquaredRelu,
     .score = RouteScore::kSigmoid},
    {.name = "llama4",
     .model_types = "llama4 llama4_text",
     .module = "feed_forward",
     .router_weight = "router.weight",
     .shared = "shared_expert",
     .modelopt_stacks = true,
     .score = RouteScore::kSigmoid,
     .renormalize = false,
     .weight_on_input = true},
};

bool names_model(const Family& family, std::string_view model_type) {
  if (model_type.empty()) return false;
  for (std::string_view rest = family.model_types; !rest.empty();) {
    const std::size_t blank = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, blank) == model_type) return true;
    rest.remove_prefix(std::min(rest.size(), blank + 1));
  }
  return false;
}

}  // namespace

std::span<const Family> families() { return kFamilies; }

const Family* family_called(std::string_view name) {
  for (const Family& family : kFamilies) {
    if (family.name == name) return &family;
  }
  return nullptr;
}

const Family* family_of_model(std::string_view model_type) {
  for (const Family& family : kFamilies) {
    if (names_model(family, model_type)) return &family;
  }
  return nullptr;
}

}  // namespace thresher::checkpoint
