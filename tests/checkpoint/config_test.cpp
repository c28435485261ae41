// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/config.hpp"

#include <gtest/gtest.h>

#include "checkpoint/sample.hpp"

namespace thresher::checkpoint {
namespace {

TEST(CheckpointConfig, KnowsTheNamesThatModelsUse) {
  const Config qwen = parse_config(
      R"({"model_type":"qwen3_moe","num_experts":128,"num_experts_per_tok":8,"norm_topk_prob":true,)"
      R"("hidden_act":"SiLU","swiglu_limit":null})",
      "c");
  EXPECT_EQ(qwen.model_type, "qwen3_moe");
  EXPECT_EQ(qwen.expert_count, 128);
  EXPECT_EQ(qwen.top_k, 8);
  EXPECT_EQ(qwen.renormalize, true);
  EXPECT_EQ(qwen.activation, "silu");
  EXPECT_FALSE(qwen.swiglu_limit);

  const Config deepseek = parse_config(
      R"({"n_routed_experts":256,"n_group":8,"topk_group":4,"routed_scaling_factor":2.5,)"
      R"("scoring_func":"sigmoid","quantization_config":{"quant_method":"modelopt","quant_algo":"NVFP4"}})",
      "c");
  EXPECT_EQ(deepseek.expert_count, 256);
  EXPECT_EQ(deepseek.group_count, 8);
  EXPECT_EQ(deepseek.groups_kept, 4);
  EXPECT_EQ(deepseek.scaling, 2.5);
  EXPECT_EQ(deepseek.scoring, "sigmoid");
  EXPECT_EQ(deepseek.quant_method, "modelopt");
  EXPECT_EQ(deepseek.quant_algo, "nvfp4");
}

TEST(CheckpointConfig, PartsOfAModelSayItInTextConfig) {
  const Config config = parse_config(
      R"({"model_type":"vl","quantization_config":{"quant_method":"compressed-tensors"},)"
      R"("text_config":{"model_type":"text","num_local_experts":8}})",
      "c");
  EXPECT_EQ(config.model_type, "text");
  EXPECT_EQ(config.expert_count, 8);
  EXPECT_EQ(config.quant_method, "compressed-tensors");
}

TEST(CheckpointConfig, TheOlderFileFillsGaps) {
  Config config;
  add_quant_config(R"({"quantization":{"quant_algo":"W4A8_NVFP4_FP8"}})", "q", config);
  EXPECT_EQ(config.quant_method, "modelopt");
  EXPECT_EQ(config.quant_algo, "w4a8_nvfp4_fp8");
}

TEST(CheckpointConfig, SaysWhatIsWrong) {
  const auto message = [](std::string_view json) {
    return complaint([&] { parse_config(json, "c"); });
  };
  EXPECT_EQ(message("{"), "c: byte 1: is not JSON");
  EXPECT_EQ(message("[]"), "c: is not an object");
  EXPECT_EQ(message(R"({"num_experts":-1})"), "c: 'num_experts' is not a count");
  EXPECT_EQ(message(R"({"num_experts":1e30})"), "c: 'num_experts' is not a count");
  EXPECT_EQ(message(R"({"num_experts":1e999})"), "c: has a number that is too large");
  EXPECT_EQ(message(R"({"model_type":4})"), "c: 'model_type' is not a text");
  EXPECT_EQ(message(R"({"norm_topk_prob":1})"), "c: 'norm_topk_prob' is not true or false");
  EXPECT_EQ(message(R"({"swiglu_limit":"7"})"), "c: 'swiglu_limit' is not a number");
  EXPECT_EQ(message("{\"a\":" + std::string(100000, '[')), "c: is nested too deeply");
}

}  // namespace
}  // namespace thresher::checkpoint
