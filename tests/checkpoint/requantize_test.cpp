// SPDX-License-Identifier: Apache-2.0
// A checkpoint in bf16 becomes one in NVFP4: the bytes of the makers' rules, the rest as it was,
// and nothing at all under the final name when something goes wrong.
#include "checkpoint/requantize.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "checkpoint/sample.hpp"
#include "nvfp4/half.hpp"
#include "nvfp4/quantize_rules.hpp"

namespace thresher::checkpoint {
namespace {

SampleTensor weights(const std::string& name, const std::string& dtype, std::int64_t rows,
                     std::int64_t k) {
  std::mt19937_64 random(std::hash<std::string>()(name));
  std::normal_distribution<float> gaussian(0, 0.02f);
  SampleTensor tensor{name, dtype, {rows, k}, {}};
  for (std::int64_t i = 0; i < rows * k; ++i) {
    const float value = gaussian(random);
    if (dtype == "F32") {
      tensor.bytes += bytes_of(value);
    } else {
      const std::uint16_t bits =
          dtype == "BF16" ? nvfp4::float_to_bf16(value) : nvfp4::float_to_fp16(value);
      tensor.bytes.append(reinterpret_cast<const char*>(&bits), 2);
    }
  }
  return tensor;
}

std::vector<SampleTensor> plain_layer(const std::string& dtype, const std::string& name) {
  std::vector<SampleTensor> tensors;
  const std::string prefix = "model.layers.0.mlp." + name + ".";
  tensors.push_back(weights(prefix + "gate_proj.weight", dtype, 48, 32));
  tensors.push_back(weights(prefix + "up_proj.weight", dtype, 48, 32));
  tensors.push_back(weights(prefix + "down_proj.weight", dtype, 32, 48));
  return tensors;
}

// Two shards that cut through an expert, a router, an attention, a tokenizer.
void write_plain(const Folder& folder, const std::string& dtype) {
  std::vector<SampleTensor> tensors = plain_layer(dtype, "experts.0");
  for (SampleTensor& tensor : plain_layer(dtype, "experts.1")) tensors.push_back(tensor);
  for (SampleTensor& tensor : plain_layer(dtype, "shared_expert")) tensors.push_back(tensor);
  tensors.push_back(weights("model.layers.0.mlp.gate.weight", dtype, 2, 32));
  tensors.push_back(weights("model.layers.0.mlp.shared_expert_gate.weight", dtype, 1, 32));
  tensors.push_back(weights("model.layers.0.self_attn.q_proj.weight", dtype, 32, 32));
  tensors.push_back(noisy("odd", "U8", {3}, 8));
  std::string map;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    map += (i > 0 ? ",\"" : "\"") + tensors[i].name + "\":\"" + (i % 2 == 0 ? "a" : "b") +
           ".safetensors\"";
  }
  std::vector<SampleTensor> shards[2];
  for (std::size_t i = 0; i < tensors.size(); ++i) shards[i % 2].push_back(tensors[i]);
  // A byte in front makes every tensor of the shard lie askew.
  folder.write("a.safetensors", safetensors(shards[0], ",\"__metadata__\":{\"format\":\"pt\"}"));
  shards[1].insert(shards[1].begin(), noisy("askew", "U8", {1}, 8));
  folder.write("b.safetensors", safetensors(shards[1]));
  folder.write("model.safetensors.index.json",
               "{\"weight_map\":{" + map + ",\"askew\":\"b.safetensors\"}}");
  folder.write("config.json", R"({"model_type":"qwen3_next","hidden_size":32})");
  folder.write("tokenizer.json", "any bytes");
}

template <typename Value>
void expect_rules(const Checkpoint& before, const Checkpoint& after, const CheckpointLayer& layer,
                  nvfp4::Rules rules) {
  const auto values_of = [&](const std::string& module) {
    const Tensor& tensor = *before.find(module + ".weight");
    std::vector<Value> values(tensor.byte_count / sizeof(Value));
    std::memcpy(values.data(), before.bytes(tensor).get(), tensor.byte_count);
    return values;
  };
  const auto amax_of = [&](const std::string& module) {
    const std::vector<Value> values = values_of(module);
    return nvfp4::finite_amax("m", std::span<const Value>(values), 16, 1);
  };
  const bool reciprocal = rules == nvfp4::Rules::kCompressedTensors;
  const auto expect_matrix = [&](const std::string& module, const Nvfp4View& view, float amax) {
    const std::vector<Value> values = values_of(module);
    const float global = nvfp4::global_scale_for<Value>(rules, amax);
    std::vector<std::uint8_t> codes(values.size() / 2);
    std::vector<std::uint8_t> scales(values.size() / 16);
    nvfp4::quantize_by_rules<Value>(
        {.values = values,
         .out = {codes.data(), scales.data(), view.rows, view.k_elements},
         .rules = rules,
         .global_scale = global});
    EXPECT_EQ(view.global_scale, reciprocal ? 1.0f / global : global) << module;
    EXPECT_EQ(std::memcmp(view.codes, codes.data(), codes.size()), 0) << module;
    EXPECT_EQ(std::memcmp(view.scales, scales.data(), scales.size()), 0) << module;
  };
  for (std::int64_t e = 0; e < 3; ++e) {
    const CheckpointExpert loaded = e < 2 ? after.expert(layer, e) : after.shared_expert(layer);
    const std::string prefix = e < 2 ? layer.prefix + "." + std::to_string(e) : layer.shared_prefix;
    // gate and up share their global scale.
    const float amax = std::max(amax_of(prefix + ".gate_proj"), amax_of(prefix + ".up_proj"));
    expect_matrix(prefix + ".gate_proj", loaded.expert.gate, amax);
    expect_matrix(prefix + ".up_proj", loaded.expert.up, amax);
    expect_matrix(prefix + ".down_proj", loaded.expert.down, amax_of(prefix + ".down_proj"));
  }
}

void expect_copied(const Checkpoint& before, const Checkpoint& after, const std::string& name) {
  const Tensor* from = before.find(name);
  const Tensor* to = after.find(name);
  ASSERT_NE(to, nullptr) << name;
  EXPECT_EQ(from->dtype, to->dtype);
  EXPECT_EQ(from->shape, to->shape);
  EXPECT_EQ(std::memcmp(before.bytes(*from).get(), after.bytes(*to).get(), from->byte_count), 0);
}

TEST(Requantize, WritesTheMakersBytesAndCopiesTheRest) {
  for (const char* dtype : {"BF16", "F16", "F32"}) {
    for (const CheckpointFormat format :
         {CheckpointFormat::kModelOpt, CheckpointFormat::kCompressedTensors}) {
      SCOPED_TRACE(std::string(dtype) + " " + std::string(to_string(format)));
      const Folder folder;
      write_plain(folder, dtype);
      const Folder parent;
      std::int64_t steps = 0;
      const Requantization job{.from = folder.path(),
                               .to = parent.path() / "out",
                               .format = format,
                               .progress = [&](const std::string&) { ++steps; }};
      const std::int64_t promised = tensor_count(job);
      const RequantizationReport report = requantize(job);
      EXPECT_EQ(steps, promised);
      EXPECT_EQ(report.matrix_count, 9);
      EXPECT_EQ(report.copied_count, 5);

      const Checkpoint before(folder.path());
      const Checkpoint after(parent.path() / "out");
      const CheckpointLayer& layer = after.layers().at(0);
      EXPECT_EQ(layer.faults, std::vector<std::string>{});
      EXPECT_EQ(layer.format, format);
      EXPECT_EQ(layer.shared_dtype, "NVFP4");
      const bool modelopt = format == CheckpointFormat::kModelOpt;
      const auto rules = modelopt ? nvfp4::Rules::kModelOpt : nvfp4::Rules::kCompressedTensors;
      if (*dtype == 'B') {
        expect_rules<Bf16>(before, after, layer, rules);
      } else if (dtype[1] == '1') {
        expect_rules<Fp16>(before, after, layer, rules);
      } else {
        expect_rules<float>(before, after, layer, rules);
      }
      for (const char* name :
           {"model.layers.0.mlp.gate.weight", "model.layers.0.mlp.shared_expert_gate.weight",
            "model.layers.0.self_attn.q_proj.weight", "odd", "askew"}) {
        expect_copied(before, after, name);
      }
      for (const Tensor& tensor : after.tensors()) {
        const std::uint64_t align = tensor.dtype == "F32" ? 4 : tensor.dtype == "U8" ? 1 : 1;
        EXPECT_EQ(tensor.offset % align, 0u) << tensor.name;
      }
      const auto config =
          nlohmann::json::parse(std::ifstream(parent.path() / "out" / "config.json"));
      EXPECT_EQ(config["hidden_size"], 32);
      EXPECT_EQ(config["quantization_config"]["quant_method"], to_string(format));
      EXPECT_EQ(config["quantization_config"]["ignore"],
                (nlohmann::json{"model.layers.0.mlp.gate", "model.layers.0.mlp.shared_expert_gate",
                                "model.layers.0.self_attn.q_proj"}));
      EXPECT_EQ(std::filesystem::exists(parent.path() / "out" / "hf_quant_config.json"), modelopt);
      EXPECT_EQ(std::filesystem::file_size(parent.path() / "out" / "tokenizer.json"), 9u);
      EXPECT_EQ(std::distance(std::filesystem::directory_iterator(parent.path()), {}), 1);
    }
  }
}

TEST(Requantize, LinearsAreRoundedWhereAsked) {
  const Folder folder;
  write_plain(folder, "BF16");
  const Folder parent;
  requantize({.from = folder.path(), .to = parent.path() / "out", .linears = true});
  const Checkpoint after(parent.path() / "out");
  EXPECT_EQ(after.matrix("model.layers.0.self_attn.q_proj").view.rows, 32);
  EXPECT_NE(after.find("model.layers.0.mlp.gate.weight"), nullptr);
}

struct Refusal {
  const char* name;
  std::vector<SampleTensor> tensors;
  const char* complaint;
};

TEST(Requantize, WhatCannotBeDoneLeavesNothing) {
  std::vector<SampleTensor> with_nan = plain_layer("BF16", "experts.0");
  with_nan[1].bytes[2 * 37] = '\xc0';
  with_nan[1].bytes[2 * 37 + 1] = '\x7f';
  std::vector<SampleTensor> fp8 = plain_layer("BF16", "experts.0");
  for (SampleTensor& tensor : fp8) {
    tensor = noisy(tensor.name, "F8_E4M3", tensor.shape, 8);
  }
  std::vector<SampleTensor> odd = plain_layer("BF16", "experts.0");
  odd[0] = weights(odd[0].name, "BF16", 48, 24);
  odd[1] = weights(odd[1].name, "BF16", 48, 24);
  odd[2] = weights(odd[2].name, "BF16", 24, 48);
  std::vector<SampleTensor> missing = plain_layer("BF16", "experts.0");
  missing.pop_back();
  const Refusal refusals[] = {
      {"nan", with_nan, "row 1, column 5: nan cannot be quantised"},
      {"fp8", fp8, "is F8_E4M3; BF16, F16 or F32 can be quantised"},
      {"odd", odd, "a multiple of 16"},
      {"missing", missing, "has no tensor"},
      {"stack",
       {noisy("model.layers.0.mlp.experts.gate_up_proj", "BF16", {2, 32, 96}, 16),
        noisy("model.layers.0.mlp.experts.down_proj", "BF16", {2, 48, 32}, 16),
        noisy("model.layers.0.mlp.router.weight", "BF16", {2, 32}, 16)},
       "stacked in one tensor"},
      {"none", {weights("q_proj.weight", "BF16", 16, 16)}, "nothing to quantise"},
  };
  for (const Refusal& refusal : refusals) {
    const Folder folder;
    const auto from = folder.write("x.safetensors", safetensors(refusal.tensors));
    const Folder parent;
    const std::string message =
        complaint([&] { requantize({.from = from, .to = parent.path() / "out"}); });
    EXPECT_NE(message.find(refusal.complaint), std::string::npos) << message;
    EXPECT_TRUE(std::filesystem::is_empty(parent.path())) << refusal.name;
  }
}

TEST(Requantize, WhatIsThereIsNotTouched) {
  const Folder folder;
  const auto from = folder.write("x.safetensors", safetensors(plain_layer("BF16", "experts.0")));
  const Folder parent;
  parent.write("out", "precious");
  EXPECT_NE(complaint([&] {
              requantize({.from = from, .to = parent.path() / "out"});
            }).find("is there already"),
            std::string::npos);
  EXPECT_EQ(parent.read("out"), "precious");
  EXPECT_NE(complaint([&] {
              requantize({.from = from, .to = parent.path() / "no" / "out"});
            }).find("there is no such folder"),
            std::string::npos);
}

}  // namespace
}  // namespace thresher::checkpoint
