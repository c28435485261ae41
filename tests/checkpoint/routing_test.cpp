// SPDX-License-Identifier: Apache-2.0
// A router that could not route is a fault of its layer, said before anybody computes with it.
#include "checkpoint/routing.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "checkpoint/sample.hpp"

namespace thresher::checkpoint {
namespace {

constexpr const char* kRoutedModule = "model.layers.0.mlp.";

// Two experts of DeepSeek's family, and one tensor beside them in place of the router's.
CheckpointLayer routed_layer(const std::string& config,
                             const std::optional<SampleTensor>& instead) {
  std::vector<SampleTensor> tensors;
  for (int e = 0; e < 2; ++e) {
    const std::string prefix = kRoutedModule + ("experts." + std::to_string(e)) + ".";
    add_matrix(tensors, true, prefix + "gate_proj", 48, 32, 1, 0);
    add_matrix(tensors, true, prefix + "up_proj", 48, 32, 1, 0);
    add_matrix(tensors, true, prefix + "down_proj", 32, 48, 1, 0);
  }
  for (const SampleTensor& tensor :
       {noisy(std::string(kRoutedModule) + "gate.weight", "BF16", {2, 32}, 16),
        noisy(std::string(kRoutedModule) + "gate.e_score_correction_bias", "F32", {2}, 32)}) {
    tensors.push_back(instead && instead->name == tensor.name ? *instead : tensor);
  }
  const Folder folder;
  folder.write("x.safetensors", safetensors(tensors));
  folder.write("config.json", "{\"model_type\":\"deepseek_v3\"" + config + "}");
  return Checkpoint(folder.path()).layers().at(0);
}

TEST(CheckpointRouting, TensorsOfAnotherShapeOrTypeAreFaultsAndHaveNoName) {
  const std::string bias = std::string(kRoutedModule) + "gate.e_score_correction_bias";
  const std::string weight = std::string(kRoutedModule) + "gate.weight";
  const auto fault = [](const SampleTensor& tensor) {
    const CheckpointLayer layer = routed_layer("", tensor);
    EXPECT_EQ(layer.faults.size(), 1u) << tensor.name;
    return layer.faults.empty() ? "" : layer.faults[0].substr(layer.faults[0].rfind(": ") + 2);
  };
  EXPECT_EQ(fault(noisy(bias, "F32", {3}, 32)), "has shape [3], [2] is needed");
  EXPECT_EQ(fault(noisy(bias, "F32", {1, 2}, 32)), "has shape [1, 2], [2] is needed");
  EXPECT_EQ(fault(noisy(bias, "I64", {2}, 64)), "is I64; F32, BF16, F16 or F64 is needed");
  EXPECT_EQ(fault(noisy(weight, "BF16", {32, 2}, 16)), "has shape [32, 2], [2, 32] is needed");
  EXPECT_EQ(fault(noisy(weight, "U8", {2, 32}, 8)), "is U8; F32, BF16, F16 or F64 is needed");
  EXPECT_EQ(routed_layer("", noisy(bias, "F32", {3}, 32)).router_bias, "");
  const CheckpointLayer whole = routed_layer("", {});
  EXPECT_EQ(whole.faults, std::vector<std::string>{});
  EXPECT_EQ(whole.router_bias, bias);
  EXPECT_EQ(whole.router_weight, weight);
}

// The router sees the model's hidden state where experts see a smaller one.
TEST(CheckpointRouting, LatentExpertsHaveAWiderRouter) {
  const SampleTensor wide = noisy(std::string(kRoutedModule) + "gate.weight", "BF16", {2, 64}, 16);
  EXPECT_EQ(routed_layer(",\"moe_latent_size\":32", wide).faults, std::vector<std::string>{});
  EXPECT_EQ(routed_layer(",\"moe_latent_size\":null", wide).faults.size(), 1u);
}

TEST(CheckpointRouting, WhatConfigSaysMustMakeSense) {
  const auto fault = [](const std::string& config) {
    const CheckpointLayer layer = routed_layer("," + config, {});
    EXPECT_EQ(layer.faults.size(), 1u) << config;
    return layer.faults.empty() ? "" : layer.faults[0];
  };
  EXPECT_EQ(fault(R"("num_experts_per_tok":9)"),
            "config.json: route: top_k = 9 is not in 1..2, the experts to choose from");
  EXPECT_EQ(fault(R"("num_experts_per_tok":0)"),
            "config.json: route: top_k = 0 is not in 1..2, the experts to choose from");
  EXPECT_EQ(fault(R"("n_group":3)"),
            "config.json: route: group_count = 3 does not divide expert_count = 2");
  EXPECT_EQ(fault(R"("topk_group":4)"), "config.json: route: groups_kept = 4 is not in 1..1");
  EXPECT_EQ(fault(R"("scoring_func":"new")"),
            "config.json: scoring_func = 'new'; softmax, sigmoid and sqrtsoftplus are known");
  for (const char* value : {"-1e300", "1e300", "0", "-1", "1e-300"}) {
    EXPECT_NE(fault(std::string(R"("routed_scaling_factor":)") + value)
                  .find("is not a positive number of FP32"),
              std::string::npos);
  }
}

TEST(CheckpointRouting, NumbersThatAreNoFp32AreFaults) {
  CheckpointLayer layer;
  EXPECT_EQ(positive_value(7, "swiglu_limit", 10, layer), 7);
  EXPECT_TRUE(layer.faults.empty());
  EXPECT_EQ(positive_value(-7, "swiglu_limit", 10, layer), 10);
  EXPECT_EQ(layer.faults, std::vector<std::string>{
                              "config.json: swiglu_limit = -7 is not a positive number of FP32"});
  for (int i = 0; i < 20; ++i) add_fault(layer, "another");
  EXPECT_EQ(layer.faults.size(), 9u);
  EXPECT_EQ(layer.faults.back(), "and more of this kind");
  EXPECT_TRUE(has_faults_enough(layer));
}

}  // namespace
}  // namespace thresher::checkpoint
