// SPDX-License-Identifier: Apache-2.0
// The C twin says what C++ says, and answers nonsense with a status.
#include <gtest/gtest.h>

#include "checkpoint/sample.hpp"
#include "thresher/checkpoint.h"
#include "thresher/checkpoint.hpp"

namespace thresher::checkpoint {
namespace {

class CheckpointInC : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<SampleTensor> tensors;
    for (const char* name : {"experts.0", "shared_experts"}) {
      const std::string module = "model.layers.4.mlp." + std::string(name);
      add_matrix(tensors, false, module + ".gate_proj", 48, 32, 0.5f, 0);
      add_matrix(tensors, false, module + ".up_proj", 48, 32, 0.25f, 0);
      add_matrix(tensors, false, module + ".down_proj", 32, 48, 2, 0);
    }
    tensors.push_back({"model.layers.4.mlp.gate.e_score_correction_bias", "F32", {1}, bytes_of(3)});
    folder_.write("x.safetensors", safetensors(tensors));
    folder_.write("config.json", R"({"model_type":"glm4_moe","num_experts_per_tok":1})");
    ASSERT_EQ(thresher_checkpoint_open(folder_.path().c_str(), 1, &checkpoint_), THRESHER_OK)
        << thresher_last_error();
  }
  void TearDown() override { thresher_checkpoint_close(checkpoint_); }

  Folder folder_;
  thresher_checkpoint* checkpoint_ = nullptr;
};

TEST_F(CheckpointInC, DescribesLayersAndTensors) {
  EXPECT_STREQ(thresher_checkpoint_model_type(checkpoint_), "glm4_moe");
  ASSERT_EQ(thresher_layer_count(checkpoint_), 1);
  thresher_checkpoint_layer layer;
  ASSERT_EQ(thresher_layer_at(checkpoint_, 0, &layer), THRESHER_OK);
  EXPECT_STREQ(layer.prefix, "model.layers.4.mlp.experts");
  EXPECT_EQ(layer.index, 4);
  EXPECT_STREQ(layer.family, "deepseek");
  EXPECT_EQ(layer.format, THRESHER_COMPRESSED_TENSORS);
  EXPECT_EQ(layer.hidden, 32);
  EXPECT_EQ(layer.intermediate, 48);
  EXPECT_EQ(layer.shared_intermediate, 48);
  EXPECT_EQ(layer.options.top_k, 1);
  EXPECT_EQ(layer.route.score, THRESHER_ROUTE_SIGMOID);
  EXPECT_EQ(layer.fault_count, 0);
  EXPECT_STREQ(layer.fault, "");
  EXPECT_EQ(thresher_layer_fault(checkpoint_, 0, 0), nullptr);
  EXPECT_STREQ(thresher_last_error(), "fault_index = 0 is not in 0..-1");
  ASSERT_EQ(thresher_checkpoint_file_count(checkpoint_), 1);
  EXPECT_TRUE(std::string(thresher_checkpoint_file(checkpoint_, 0)).ends_with("/x.safetensors"));
  EXPECT_EQ(thresher_checkpoint_file(checkpoint_, 1), nullptr);

  const int64_t index = thresher_tensor_index(checkpoint_, layer.router_bias);
  ASSERT_GE(index, 0);
  thresher_tensor tensor;
  ASSERT_EQ(thresher_tensor_at(checkpoint_, index, &tensor), THRESHER_OK);
  EXPECT_STREQ(tensor.dtype, "F32");
  EXPECT_EQ(tensor.rank, 1);
  EXPECT_EQ(tensor.shape[0], 1);
  float value = 0;
  ASSERT_EQ(thresher_tensor_values(checkpoint_, index, &value, 1), THRESHER_OK);
  EXPECT_EQ(value, 3.0f);
  value = 0;
  ASSERT_EQ(thresher_tensor_bytes(checkpoint_, index, &value, 4), THRESHER_OK);
  EXPECT_EQ(value, 3.0f);
}

TEST_F(CheckpointInC, NamesEveryFaultOfALayer) {
  std::vector<SampleTensor> tensors;
  add_matrix(tensors, false, "model.layers.0.mlp.experts.0.gate_proj", 48, 32, 0.5f, 0);
  const Folder folder;
  folder.write("x.safetensors", safetensors(tensors));
  folder.write("config.json",
               R"({"model_type":"glm4_moe","num_experts_per_tok":1,"n_routed_experts":3})");
  thresher_checkpoint* checkpoint = nullptr;
  ASSERT_EQ(thresher_checkpoint_open(folder.path().c_str(), 1, &checkpoint), THRESHER_OK);
  thresher_checkpoint_layer layer;
  ASSERT_EQ(thresher_layer_at(checkpoint, 0, &layer), THRESHER_OK) << thresher_last_error();
  const Checkpoint same(folder.path());
  const std::vector<std::string>& faults = same.layers().at(0).faults;
  ASSERT_GE(faults.size(), 2u);
  ASSERT_EQ(layer.fault_count, std::ssize(faults));
  for (std::int64_t i = 0; i < layer.fault_count; ++i) {
    EXPECT_EQ(thresher_layer_fault(checkpoint, 0, i), faults[static_cast<std::size_t>(i)]);
  }
  thresher_checkpoint_close(checkpoint);
}

TEST_F(CheckpointInC, LoadsWhatOutlivesIt) {
  thresher_loaded* loaded[3] = {};
  ASSERT_EQ(thresher_expert_load(checkpoint_, 0, 0, &loaded[0]), THRESHER_OK);
  ASSERT_EQ(thresher_expert_load(checkpoint_, 0, -1, &loaded[1]), THRESHER_OK);
  ASSERT_EQ(thresher_matrix_load(checkpoint_, "model.layers.4.mlp.experts.0.down_proj", &loaded[2]),
            THRESHER_OK);
  thresher_checkpoint_close(checkpoint_);
  checkpoint_ = nullptr;
  const char* names[] = {"experts.0", "shared_experts"};
  for (int i = 0; i < 2; ++i) {
    const thresher_moe_expert expert = thresher_loaded_expert(loaded[i]);
    EXPECT_EQ(expert.gate.global_scale, 0.5f);
    EXPECT_EQ(expert.up.global_scale, 0.25f);
    EXPECT_EQ(
        std::string(reinterpret_cast<const char*>(expert.up.codes), 48 * 16),
        noise("model.layers.4.mlp." + std::string(names[i]) + ".up_proj.weight_packed", 48 * 16));
  }
  EXPECT_EQ(thresher_loaded_expert(loaded[2]).down.rows, 32);
  EXPECT_EQ(thresher_loaded_expert(loaded[2]).down.global_scale, 2.0f);
  for (thresher_loaded* each : loaded) thresher_loaded_destroy(each);
}

// Bits of a layer's output for one token that visits the routed expert.
std::vector<float> forward_once(const thresher_moe_layer* layer) {
  std::vector<float> x(32);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.25f * static_cast<float>(i % 7) - 0.5f;
  std::vector<float> out(x.size());
  const int32_t id = 0;
  const float weight = 0.75f;
  const thresher_moe_tokens tokens{
      .x = x.data(), .ids = &id, .weights = &weight, .out = out.data(), .token_count = 1};
  EXPECT_EQ(thresher_moe_forward(layer, &tokens), THRESHER_OK) << thresher_last_error();
  return out;
}

TEST_F(CheckpointInC, MakesTheLayerThatItsExpertsMake) {
  const thresher_engine_options device{.device = "cpu", .thread_count = 1};
  thresher_engine* engine = nullptr;
  ASSERT_EQ(thresher_engine_create(&device, &engine), THRESHER_OK) << thresher_last_error();
  thresher_checkpoint_layer described;
  ASSERT_EQ(thresher_layer_at(checkpoint_, 0, &described), THRESHER_OK);
  thresher_moe_options options = described.options;
  options.tokens_max = 2;
  options.x = options.out = THRESHER_C_FP32;
  thresher_moe_layer* alone = nullptr;
  thresher_moe_layer* with_shared = nullptr;
  ASSERT_EQ(thresher_moe_load(engine, checkpoint_, 0, 0, 0, 0, &options, &alone), THRESHER_OK)
      << thresher_last_error();
  ASSERT_EQ(thresher_moe_load(engine, checkpoint_, 0, 0, 1, 1, &options, &with_shared), THRESHER_OK)
      << thresher_last_error();
  EXPECT_EQ(thresher_moe_shared_count(alone), 0);
  EXPECT_EQ(thresher_moe_shared_count(with_shared), 1);

  thresher_loaded* loaded[2] = {};
  ASSERT_EQ(thresher_expert_load(checkpoint_, 0, 0, &loaded[0]), THRESHER_OK);
  ASSERT_EQ(thresher_expert_load(checkpoint_, 0, -1, &loaded[1]), THRESHER_OK);
  thresher_checkpoint_close(checkpoint_);
  checkpoint_ = nullptr;
  const thresher_moe_expert experts[2] = {thresher_loaded_expert(loaded[0]),
                                          thresher_loaded_expert(loaded[1])};
  thresher_moe_layer* by_hand[2] = {};
  for (int64_t shared = 0; shared < 2; ++shared) {
    ASSERT_EQ(
        thresher_moe_create(engine, experts, 1, experts + 1, shared, &options, &by_hand[shared]),
        THRESHER_OK);
  }
  EXPECT_EQ(forward_once(alone), forward_once(by_hand[0]));
  EXPECT_EQ(forward_once(with_shared), forward_once(by_hand[1]));
  EXPECT_NE(forward_once(alone), forward_once(with_shared));
  for (thresher_moe_layer* layer : {alone, with_shared, by_hand[0], by_hand[1]}) {
    thresher_moe_destroy(layer);
  }
  for (thresher_loaded* each : loaded) thresher_loaded_destroy(each);
  thresher_engine_destroy(engine);
}

TEST_F(CheckpointInC, ALayerThatCannotBeMadeIsAStatus) {
  const thresher_engine_options device{.device = "cpu", .thread_count = 1};
  thresher_engine* engine = nullptr;
  ASSERT_EQ(thresher_engine_create(&device, &engine), THRESHER_OK);
  const thresher_moe_options options = thresher_moe_options_defaults();
  thresher_moe_layer* layer = nullptr;
  const auto refused = [&](const thresher_engine* with, const thresher_checkpoint* from,
                           int64_t index, int64_t first, int64_t count,
                           const thresher_moe_options* how) {
    EXPECT_EQ(thresher_moe_load(with, from, index, first, count, 0, how, &layer), THRESHER_INVALID);
    EXPECT_EQ(layer, nullptr);
    return std::string(thresher_last_error());
  };
  EXPECT_EQ(refused(nullptr, checkpoint_, 0, 0, 0, &options), "engine is null");
  EXPECT_EQ(refused(engine, nullptr, 0, 0, 0, &options), "checkpoint is null");
  EXPECT_EQ(refused(engine, checkpoint_, 0, 0, 0, nullptr), "options is null");
  EXPECT_EQ(refused(engine, checkpoint_, 1, 0, 0, &options), "layer index = 1 is not in 0..0");
  EXPECT_EQ(refused(engine, checkpoint_, 0, 1, 0, &options),
            "model.layers.4.mlp.experts: all experts from 1 on are asked for, and there are 0..0");
  EXPECT_EQ(refused(engine, checkpoint_, 0, 0, 2, &options),
            "model.layers.4.mlp.experts: 2 experts from 0 on are asked for, and there are 0..0");
  EXPECT_EQ(thresher_moe_load(engine, checkpoint_, 0, 0, 0, 0, &options, nullptr),
            THRESHER_INVALID);
  thresher_engine_destroy(engine);
}

TEST_F(CheckpointInC, NonsenseIsAnsweredWithAStatus) {
  thresher_checkpoint* none = checkpoint_;
  EXPECT_EQ(thresher_checkpoint_open("/nowhere/at/all", 1, &none), THRESHER_INVALID);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(thresher_checkpoint_open(nullptr, 1, &none), THRESHER_INVALID);
  EXPECT_EQ(thresher_checkpoint_open("/", 1, nullptr), THRESHER_INVALID);
  EXPECT_EQ(thresher_layer_count(nullptr), 0);
  EXPECT_EQ(thresher_tensor_index(checkpoint_, "nothing"), -1);
  EXPECT_EQ(thresher_tensor_index(nullptr, "nothing"), -1);
  thresher_checkpoint_layer layer;
  EXPECT_EQ(thresher_layer_at(checkpoint_, 1, &layer), THRESHER_INVALID);
  EXPECT_STREQ(thresher_last_error(), "layer index = 1 is not in 0..0");
  EXPECT_EQ(thresher_layer_at(checkpoint_, 0, nullptr), THRESHER_INVALID);
  thresher_loaded* loaded = nullptr;
  EXPECT_EQ(thresher_expert_load(checkpoint_, 0, 1, &loaded), THRESHER_INVALID);
  EXPECT_EQ(thresher_expert_load(checkpoint_, 0, -2, &loaded), THRESHER_INVALID);
  EXPECT_EQ(thresher_matrix_load(checkpoint_, "nothing", &loaded), THRESHER_INVALID);
  float value = 0;
  const int64_t bias =
      thresher_tensor_index(checkpoint_, "model.layers.4.mlp.gate.e_score_correction_bias");
  EXPECT_EQ(thresher_tensor_values(checkpoint_, bias, &value, 2), THRESHER_INVALID);
  EXPECT_EQ(thresher_tensor_bytes(checkpoint_, bias, &value, 3), THRESHER_INVALID);
  EXPECT_EQ(thresher_tensor_bytes(checkpoint_, bias, nullptr, 4), THRESHER_INVALID);
  EXPECT_EQ(thresher_loaded_expert(nullptr).up.codes, nullptr);
  thresher_loaded_destroy(nullptr);
}

}  // namespace
}  // namespace thresher::checkpoint
