// SPDX-License-Identifier: Apache-2.0
// Layers of every family, in both formats: found by name, described from config.json, and their
// experts are the very bytes that were written.
#include "checkpoint/layers.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "checkpoint/sample.hpp"
#include "thresher/checkpoint.hpp"

namespace thresher::checkpoint {
namespace {

constexpr std::int64_t kHidden = 32;
constexpr std::int64_t kIntermediate = 48;
constexpr std::int64_t kExpertCount = 3;

struct FamilyCase {
  const char* family;
  const char* config;  // members of config.json's object
  const char* module;  // of layer 1
  const char* gate;
  const char* up;
  const char* down;
  std::vector<const char*> beside;  // in the module: router and markers
  const char* shared;
};

const FamilyCase kCases[] = {
    {"qwen",
     R"("model_type":"qwen3_moe")",
     "model.layers.1.mlp",
     "gate_proj",
     "up_proj",
     "down_proj",
     {"gate.weight"},
     ""},
    {"qwen_shared",
     R"("text_config":{"model_type":"qwen3_5_moe_text"})",
     "model.language_model.layers.1.mlp",
     "gate_proj",
     "up_proj",
     "down_proj",
     {"gate.weight", "shared_expert_gate.weight"},
     "shared_expert"},
    {"deepseek",
     R"("model_type":"deepseek_v3")",
     "model.layers.1.mlp",
     "gate_proj",
     "up_proj",
     "down_proj",
     {"gate.weight", "gate.e_score_correction_bias"},
     "shared_experts"},
    {"mixtral",
     R"("model_type":"mixtral")",
     "model.layers.1.block_sparse_moe",
     "w1",
     "w3",
     "w2",
     {"gate.weight"},
     ""},
    {"minimax",
     R"("model_type":"minimax_m2")",
     "model.layers.1.block_sparse_moe",
     "w1",
     "w3",
     "w2",
     {"gate.weight", "e_score_correction_bias"},
     ""},
    {"deepseek_v4",
     R"("model_type":"deepseek_v4","swiglu_limit":10)",
     "layers.1.ffn",
     "w1",
     "w3",
     "w2",
     {"gate.weight", "gate.bias"},
     "shared_experts"},
    {"nemotron",
     R"("model_type":"nemotron_h","mlp_hidden_act":"relu2")",
     "backbone.layers.1.mixer",
     "",
     "up_proj",
     "down_proj",
     {"gate.weight", "gate.e_score_correction_bias"},
     "shared_experts"},
    {"gpt_oss",
     R"("model_type":"gpt_oss","swiglu_limit":7.0)",
     "model.layers.1.mlp",
     "gate_proj",
     "up_proj",
     "down_proj",
     {"router.weight", "router.bias"},
     ""},
    {"llama4",
     R"("model_type":"llama4_text")",
     "language_model.model.layers.1.feed_forward",
     "gate_proj",
     "up_proj",
     "down_proj",
     {"router.weight"},
     "shared_expert"},
};

float scale_of(std::int64_t expert, int projection) {
  return std::ldexp(1.0f, -static_cast<int>(expert)) * static_cast<float>(projection + 1);
}

void add_expert(std::vector<SampleTensor>& tensors, const FamilyCase& c, bool modelopt,
                const std::string& prefix, std::int64_t e) {
  const auto add = [&](const char* name, int projection, std::int64_t rows, std::int64_t k) {
    add_matrix(tensors, modelopt, prefix + "." + name, rows, k, scale_of(e, projection),
               0.5f * scale_of(e, projection));
  };
  if (*c.gate != 0) add(c.gate, 0, kIntermediate, kHidden);
  add(c.up, 1, kIntermediate, kHidden);
  add(c.down, 2, kHidden, kIntermediate);
}

std::vector<SampleTensor> tensors_of(const FamilyCase& c, bool modelopt) {
  std::vector<SampleTensor> tensors;
  const std::string module = c.module;
  for (std::int64_t e = 0; e < kExpertCount; ++e) {
    add_expert(tensors, c, modelopt, module + ".experts." + std::to_string(e), e);
  }
  for (const char* name : c.beside) {
    const std::string_view suffix = name;
    const bool is_vector = suffix.ends_with("bias");
    const std::int64_t rows = suffix.starts_with("shared_expert_gate") ? 1 : kExpertCount;
    tensors.push_back(noisy(module + "." + name, "BF16",
                            is_vector ? std::vector{kExpertCount} : std::vector{rows, kHidden},
                            16));
  }
  if (*c.shared != 0) add_expert(tensors, c, modelopt, module + "." + c.shared, kExpertCount);
  return tensors;
}

void write_family(const Folder& folder, const FamilyCase& c, bool modelopt,
                  const std::string& config_more = "") {
  folder.write("model.safetensors", safetensors(tensors_of(c, modelopt)));
  folder.write("config.json", "{" + std::string(c.config) + config_more + "}");
}

void expect_matrix(const Nvfp4View& view, const std::string& module, bool modelopt,
                   std::int64_t rows, std::int64_t k, float global_scale) {
  ASSERT_EQ(view.rows, rows);
  ASSERT_EQ(view.k_elements, k);
  EXPECT_EQ(view.global_scale, global_scale) << module;
  const auto text = [](const std::uint8_t* bytes, std::int64_t count) {
    return std::string(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
  };
  EXPECT_EQ(text(view.codes, rows * k / 2),
            noise(module + (modelopt ? ".weight" : ".weight_packed"),
                  static_cast<std::size_t>(rows * k / 2)));
  EXPECT_EQ(text(view.scales, rows * k / 16),
            noise(module + ".weight_scale", static_cast<std::size_t>(rows * k / 16)));
}

void expect_expert(const MoeExpert& expert, const FamilyCase& c, bool modelopt,
                   const std::string& prefix, std::int64_t e) {
  if (*c.gate != 0) {
    expect_matrix(expert.gate, prefix + "." + c.gate, modelopt, kIntermediate, kHidden,
                  scale_of(e, 0));
  } else {
    EXPECT_EQ(expert.gate.rows, 0);
  }
  expect_matrix(expert.up, prefix + "." + c.up, modelopt, kIntermediate, kHidden, scale_of(e, 1));
  expect_matrix(expert.down, prefix + "." + c.down, modelopt, kHidden, kIntermediate,
                scale_of(e, 2));
  EXPECT_EQ(expert.input_scale, 0.5f * scale_of(e, 1));  // the larger of gate's and up's
  EXPECT_FLOAT_EQ(expert.down_input_scale, 0.5f * scale_of(e, 2));
}

TEST(CheckpointLayers, ExpertsOfEveryFamilyAreTheBytesThatWereWritten) {
  for (const FamilyCase& c : kCases) {
    for (const bool modelopt : {true, false}) {
      SCOPED_TRACE(std::string(c.family) + (modelopt ? " modelopt" : " compressed-tensors"));
      const Folder folder;
      write_family(folder, c, modelopt);
      for (const bool mapped : {true, false}) {
        const Checkpoint checkpoint(folder.path(), {.mapped = mapped});
        ASSERT_EQ(checkpoint.layers().size(), 1u);
        const CheckpointLayer& layer = checkpoint.layers()[0];
        EXPECT_EQ(layer.faults, std::vector<std::string>{});
        EXPECT_EQ(layer.family, c.family);
        EXPECT_EQ(layer.prefix, std::string(c.module) + ".experts");
        EXPECT_EQ(layer.index, 1);
        EXPECT_EQ(layer.format,
                  modelopt ? CheckpointFormat::kModelOpt : CheckpointFormat::kCompressedTensors);
        EXPECT_EQ(layer.dtype, "NVFP4");
        EXPECT_EQ(layer.expert_count, kExpertCount);
        EXPECT_EQ(layer.hidden, kHidden);
        EXPECT_EQ(layer.intermediate, kIntermediate);
        EXPECT_TRUE(layer.has_input_scales);
        EXPECT_EQ(layer.has_gate, *c.gate != 0);
        EXPECT_EQ(layer.router_weight, std::string(c.module) + "." + c.beside[0]);
        for (std::int64_t e = 0; e < kExpertCount; ++e) {
          const CheckpointExpert loaded = checkpoint.expert(layer, e);
          expect_expert(loaded.expert, c, modelopt, layer.prefix + "." + std::to_string(e), e);
        }
        ASSERT_EQ(layer.shared_intermediate, *c.shared != 0 ? kIntermediate : 0);
        if (*c.shared == 0) continue;
        expect_expert(checkpoint.shared_expert(layer).expert, c, modelopt, layer.shared_prefix,
                      kExpertCount);
      }
    }
  }
}

// Without config.json only those that share their names with another family need a marker.
TEST(CheckpointLayers, FamiliesAreKnownByTheirTensorsAlone) {
  for (const FamilyCase& c : kCases) {
    const Folder folder;
    const auto path = folder.write("x.safetensors", safetensors(tensors_of(c, true)));
    EXPECT_EQ(Checkpoint(path).layers().at(0).family, c.family);
  }
}

const FamilyCase& case_of(std::string_view family) {
  for (const FamilyCase& c : kCases) {
    if (c.family == family) return c;
  }
  throw Error("no such case");
}

CheckpointLayer layer_of(std::string_view family, const std::string& config_more = "") {
  const Folder folder;
  write_family(folder, case_of(family), true, config_more);
  return Checkpoint(folder.path()).layers().at(0);
}

TEST(CheckpointLayers, ConfigSaysHowTokensAreRouted) {
  const CheckpointLayer deepseek = layer_of(
      "deepseek", R"(,"num_experts_per_tok":2,"n_group":3,"topk_group":2,)"
                  R"("routed_scaling_factor":2.5,"norm_topk_prob":true,"n_routed_experts":3)");
  EXPECT_EQ(deepseek.route.score, RouteScore::kSigmoid);
  EXPECT_EQ(deepseek.route.top_k, 2);
  EXPECT_EQ(deepseek.options.top_k, 2);
  EXPECT_EQ(deepseek.route.group_count, 3);
  EXPECT_EQ(deepseek.route.groups_kept, 2);
  EXPECT_EQ(deepseek.route.scaling, 2.5f);
  EXPECT_TRUE(deepseek.route.renormalize);
  EXPECT_EQ(deepseek.router_bias, "model.layers.1.mlp.gate.e_score_correction_bias");
  EXPECT_EQ(deepseek.faults, std::vector<std::string>{});

  const CheckpointLayer qwen = layer_of("qwen", R"(,"norm_topk_prob":false)");
  EXPECT_EQ(qwen.route.score, RouteScore::kSoftmax);
  EXPECT_EQ(qwen.route.top_k, 0);
  EXPECT_FALSE(qwen.route.renormalize);
  EXPECT_EQ(layer_of("gpt_oss").route.score, RouteScore::kSoftmaxOfChosen);
  EXPECT_EQ(layer_of("gpt_oss").router_logits_bias, "model.layers.1.mlp.router.bias");
  EXPECT_EQ(layer_of("deepseek_v4").route.score, RouteScore::kSqrtSoftplus);
  EXPECT_TRUE(layer_of("llama4").options.weight_on_input);
  EXPECT_EQ(layer_of("qwen_shared").shared_gate,
            "model.language_model.layers.1.mlp.shared_expert_gate.weight");
}

TEST(CheckpointLayers, ActivationsAreTheFamilys) {
  const MoeOptions gpt_oss = layer_of("gpt_oss").options;
  EXPECT_EQ(gpt_oss.activation, MoeActivation::kClampedSilu);
  EXPECT_EQ(gpt_oss.alpha, 1.702f);
  EXPECT_EQ(gpt_oss.beta, 1.0f);
  EXPECT_EQ(gpt_oss.limit, 7.0f);
  const MoeOptions deepseek = layer_of("deepseek_v4").options;
  EXPECT_EQ(deepseek.alpha, 1.0f);
  EXPECT_EQ(deepseek.beta, 0.0f);
  EXPECT_EQ(deepseek.limit, 10.0f);
  EXPECT_EQ(layer_of("nemotron").options.activation, MoeActivation::kSquaredRelu);
  EXPECT_EQ(layer_of("qwen").options.activation, MoeActivation::kSilu);
}

TEST(CheckpointLayers, WhatConfigSaysAndThresherDoesNotComputeIsAFault) {
  const auto fault = [](const char* more) { return layer_of("qwen", more).faults.at(0); };
  EXPECT_NE(fault(R"(,"swiglu_limit":7.0)").find("swiglu_limit = 7"), std::string::npos);
  EXPECT_NE(fault(R"(,"hidden_act":"gelu")").find("'gelu'"), std::string::npos);
  EXPECT_EQ(fault(R"(,"num_experts":4)"),
            "model.layers.1.mlp.experts: there are 3 experts, config.json says 4");
}

// A family's layer with one tensor more, less, or of another kind, and what is said of it.
CheckpointLayer broken_layer(std::string_view family, const std::string& name,
                             const std::optional<SampleTensor>& instead) {
  const FamilyCase& c = case_of(family);
  const std::string full = std::string(c.module) + "." + name;
  std::vector<SampleTensor> tensors = tensors_of(c, true);
  std::erase_if(tensors, [&](const SampleTensor& tensor) { return tensor.name == full; });
  if (instead) tensors.push_back(*instead);
  const Folder folder;
  folder.write("x.safetensors", safetensors(tensors));
  folder.write("config.json", "{" + std::string(c.config) + "}");
  return Checkpoint(folder.path()).layers().at(0);
}

TEST(CheckpointLayers, HalfASharedExpertIsAFault) {
  for (const char* part : {"gate_proj", "up_proj", "down_proj"}) {
    const std::string name = "shared_expert." + std::string(part) + ".weight";
    const CheckpointLayer layer = broken_layer("qwen_shared", name, {});
    ASSERT_EQ(layer.faults.size(), 1u) << name;
    EXPECT_EQ(layer.faults[0],
              "x.safetensors: has no tensor 'model.language_model.layers.1.mlp." + name + "'");
  }
  const std::string wide = "model.language_model.layers.1.mlp.shared_expert.down_proj.weight";
  const CheckpointLayer layer = broken_layer("qwen_shared", "shared_expert.down_proj.weight",
                                             noisy(wide, "BF16", {kHidden, kIntermediate}, 16));
  ASSERT_EQ(layer.faults.size(), 1u);
  EXPECT_NE(layer.faults[0].find("is BF16 (none), where '"), std::string::npos) << layer.faults[0];
}

TEST(CheckpointLayers, ExpertsOfNoKnownNameAreAFault) {
  const Folder folder;
  const Checkpoint checkpoint(folder.write(
      "x.safetensors",
      safetensors({noisy("model.layers.0.mlp.experts.w13_weight", "BF16", {2, 32, 32}, 16)})));
  EXPECT_EQ(checkpoint.layers().at(0).expert_count, 0);
  EXPECT_NE(checkpoint.layers()[0].faults.at(0).find("w13_weight' at byte"), std::string::npos);
  EXPECT_NE(checkpoint.layers()[0].faults.at(0).find("is none of an expert's tensors"),
            std::string::npos);
}

// "mlp" is the module of many families, and config.json says of which.
TEST(CheckpointLayers, AModelOfAnotherFamilyIsAFaultAndAnUnknownOneANote) {
  const Folder folder;
  folder.write("x.safetensors", safetensors(tensors_of(case_of("qwen"), true)));
  const auto layer = [&](const std::string& config) {
    folder.write("config.json", config);
    return Checkpoint(folder.path()).layers().at(0);
  };
  const CheckpointLayer contradicted = layer(R"({"model_type":"mixtral"})");
  EXPECT_EQ(contradicted.faults,
            (std::vector<std::string>{
                "config.json: model_type = 'mixtral' is of the family 'mixtral', which has its "
                "experts in 'block_sparse_moe', not in 'mlp'"}));
  EXPECT_EQ(contradicted.family, "qwen");
  EXPECT_TRUE(contradicted.notes.empty());
  const CheckpointLayer unknown = layer(R"({"model_type":"new_moe"})");
  EXPECT_TRUE(unknown.faults.empty());
  EXPECT_EQ(unknown.notes,
            (std::vector<std::string>{
                "config.json: no family is known to have the model_type 'new_moe'; tensors are "
                "named as those of the family 'qwen'"}));
  const CheckpointLayer unsaid = layer("{}");
  EXPECT_TRUE(unsaid.faults.empty());
  EXPECT_TRUE(unsaid.notes.empty());
  EXPECT_EQ(layer(R"({"model_type":"qwen3_moe"})").notes, std::vector<std::string>{});
}

TEST(CheckpointLayers, ASecondFamilyInOneFileIsAFaultButForADraft) {
  std::vector<SampleTensor> tensors = tensors_of(case_of("qwen"), true);
  FamilyCase other = case_of("mixtral");
  const auto faults_of_second = [&](const char* module) {
    other.module = module;
    std::vector<SampleTensor> both = tensors;
    for (SampleTensor& tensor : tensors_of(other, true)) both.push_back(std::move(tensor));
    const Folder folder;
    const Checkpoint checkpoint(folder.write("x.safetensors", safetensors(both)));
    EXPECT_TRUE(checkpoint.layers().at(0).faults.empty());
    return checkpoint.layers().at(1).faults;
  };
  EXPECT_EQ(faults_of_second("model.layers.2.block_sparse_moe"),
            (std::vector<std::string>{
                "model.layers.2.block_sparse_moe.experts: is of the family 'mixtral', "
                "model.layers.1.mlp.experts of 'qwen'; layers of one model are of one family"}));
  EXPECT_EQ(faults_of_second("mtp.layers.0.block_sparse_moe"), std::vector<std::string>{});
}

// W4A8 files have input scales of another meaning.
TEST(CheckpointLayers, InputScalesOfFp8ActivationsAreNotTaken) {
  const CheckpointLayer layer =
      layer_of("qwen", R"(,"quantization_config":{"quant_algo":"W4A8_NVFP4_FP8"})");
  EXPECT_FALSE(layer.has_input_scales);
  EXPECT_EQ(layer.faults, std::vector<std::string>{});
}

TEST(CheckpointLayers, LayersAreInOrderAndThoseOfNoFamilySaySo) {
  std::vector<SampleTensor> tensors;
  for (const char* module : {"model.layers.10.mlp", "model.layers.2.mlp", "mtp.layers.0.mlp",
                             "model.layers.3.strange"}) {
    const std::string expert = std::string(module) + ".experts.0.";
    for (const char* name : {"gate_proj.weight", "up_proj.weight"}) {
      tensors.push_back(noisy(expert + name, "BF16", {16, 32}, 16));
    }
    tensors.push_back(noisy(expert + "down_proj.weight", "BF16", {32, 16}, 16));
  }
  const Folder folder;
  const Checkpoint checkpoint(folder.write("x.safetensors", safetensors(tensors)));
  std::vector<std::string> prefixes;
  for (const CheckpointLayer& layer : checkpoint.layers()) prefixes.push_back(layer.prefix);
  EXPECT_EQ(prefixes, (std::vector<std::string>{
                          "model.layers.2.mlp.experts", "model.layers.3.strange.experts",
                          "model.layers.10.mlp.experts", "mtp.layers.0.mlp.experts"}));
  EXPECT_NE(checkpoint.layers()[1].faults.at(0).find("in 'strange'"), std::string::npos);
  EXPECT_EQ(checkpoint.layers()[0].dtype, "BF16");
  EXPECT_EQ(checkpoint.layers()[0].format, CheckpointFormat::kNone);
  EXPECT_NE(
      complaint([&] { checkpoint.expert(checkpoint.layers()[0], 0); }).find("is BF16, not NVFP4"),
      std::string::npos);
}

}  // namespace
}  // namespace thresher::checkpoint
