// SPDX-License-Identifier: Apache-2.0
// A checkpoint in bf16 becomes one in NVFP4: the bytes of the makers' rules, the rest as it was,
// and nothing at all under the final name when something goes wrong.
#include "checkpoint/requantize.hpp"

#include <gtest/gtest.h>

#include <array>
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

// Into "out" of the other folder, with as many steps as were promised.
RequantizationReport requantized(const Folder& from, const Folder& parent,
                                 CheckpointFormat format) {
  std::int64_t steps = 0;
  std::int64_t promised = -1;
  RequantizationReport report = requantize({.from = from.path(),
                                            .to = parent.path() / "out",
                                            .format = format,
                                            .begin = [&](std::int64_t count) { promised = count; },
                                            .progress = [&](const std::string&) { ++steps; }});
  EXPECT_EQ(steps, promised);
  return report;
}

TEST(Requantize, WritesTheMakersBytesAndCopiesTheRest) {
  for (const char* dtype : {"BF16", "F16", "F32"}) {
    for (const CheckpointFormat format :
         {CheckpointFormat::kModelOpt, CheckpointFormat::kCompressedTensors}) {
      SCOPED_TRACE(std::string(dtype) + " " + std::string(to_string(format)));
      const Folder folder;
      write_plain(folder, dtype);
      const Folder parent;
      const RequantizationReport report = requantized(folder, parent, format);
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

// Stacks of experts: hidden x 2 * intermediate, or the other way round.
constexpr std::int64_t kRoundedExperts = 3;
constexpr std::int64_t kRoundedHidden = 32;
constexpr std::int64_t kRoundedInner = 48;

struct StackedModel {
  const char* family;
  const char* module;
  const char* router;
  bool rows_first;   // [E, N, K]
  bool interleaved;  // rows of gate and up take turns
  bool biases;
  bool modelopt_keeps;  // as stacks
};

constexpr StackedModel kStackedModels[] = {
    {"llama4", "model.layers.0.feed_forward", "router.weight", false, false, false, true},
    {"gpt_oss", "model.layers.0.mlp", "router.weight", false, true, true, true},
    {"qwen", "model.layers.0.mlp", "gate.weight", true, false, false, false},
    {"qwen", "model.layers.0.mlp", "gate.weight", false, false, true, false},
};

std::vector<SampleTensor> stacked_model(const StackedModel& model, const std::string& dtype) {
  const std::string prefix = std::string(model.module) + ".experts.";
  const auto stack = [&](const std::string& name, std::int64_t rows, std::int64_t k) {
    SampleTensor tensor = weights(name, dtype, kRoundedExperts * rows, k);
    tensor.shape = model.rows_first ? std::vector{kRoundedExperts, rows, k}
                                    : std::vector{kRoundedExperts, k, rows};
    return tensor;
  };
  std::vector<SampleTensor> tensors{
      stack(prefix + "gate_up_proj", 2 * kRoundedInner, kRoundedHidden),
      stack(prefix + "down_proj", kRoundedHidden, kRoundedInner)};
  tensors.push_back(
      weights(std::string(model.module) + "." + model.router, dtype, 3, kRoundedHidden));
  if (model.biases) {
    tensors.push_back(
        weights(prefix + "gate_up_proj_bias", dtype, kRoundedExperts, 2 * kRoundedInner));
    tensors.push_back(weights(prefix + "down_proj_bias", dtype, kRoundedExperts, kRoundedHidden));
  }
  // Lies in front of all others and puts them askew.
  tensors.insert(tensors.begin(), noisy("askew", "U8", {1}, 8));
  return tensors;
}

// Rows first, first + step, ... of one expert of a stack, as a matrix.
template <typename Value>
std::vector<Value> rows_of_stack(const Checkpoint& before, const std::string& name, std::int64_t e,
                                 const StackedModel& model, std::array<std::int64_t, 3> rows) {
  const Tensor& tensor = *before.find(name);
  const std::int64_t n = tensor.shape[model.rows_first ? 1 : 2];
  const std::int64_t k = tensor.shape[model.rows_first ? 2 : 1];
  const auto [first, step, count] = rows;
  std::vector<Value> values;
  for (std::int64_t r = first; r < first + step * count; r += step) {
    for (std::int64_t j = 0; j < k; ++j) {
      const std::int64_t at = e * n * k + (model.rows_first ? r * k + j : j * n + r);
      Value value;
      std::memcpy(&value, before.bytes(tensor).get() + at * std::int64_t{sizeof value},
                  sizeof value);
      values.push_back(value);
    }
  }
  return values;
}

template <typename Value>
void expect_stack_rounded(const Checkpoint& before, const Checkpoint& after,
                          const StackedModel& model, nvfp4::Rules rules) {
  const CheckpointLayer& layer = after.layers().at(0);
  ASSERT_EQ(layer.faults, std::vector<std::string>{});
  const std::string gate_up = layer.prefix + ".gate_up_proj";
  const bool modelopt = rules == nvfp4::Rules::kModelOpt;
  const bool one_scale = modelopt && model.modelopt_keeps;
  const auto amax = [&](const std::string& name, std::int64_t e) {
    const Tensor& tensor = *before.find(name);
    const auto count = static_cast<std::size_t>(tensor.byte_count / sizeof(Value));
    std::vector<Value> values(count);
    std::memcpy(values.data(), before.bytes(tensor).get(), tensor.byte_count);
    const std::size_t share = count / kRoundedExperts;
    const std::span<const Value> all(values);
    return nvfp4::finite_amax(
        "m", one_scale ? all : all.subspan(static_cast<std::size_t>(e) * share, share), 16, 1);
  };
  const auto expect_matrix = [&](const Nvfp4View& view, const std::vector<Value>& values,
                                 float largest) {
    const float global = nvfp4::global_scale_for<Value>(rules, largest);
    std::vector<std::uint8_t> codes(values.size() / 2);
    std::vector<std::uint8_t> scales(values.size() / 16);
    ASSERT_EQ(view.rows * view.k_elements, static_cast<std::int64_t>(values.size()));
    nvfp4::quantize_by_rules<Value>(
        {.values = values,
         .out = {codes.data(), scales.data(), view.rows, view.k_elements},
         .rules = rules,
         .global_scale = global});
    EXPECT_EQ(view.global_scale, modelopt ? global : 1.0f / global);
    EXPECT_EQ(std::memcmp(view.codes, codes.data(), codes.size()), 0);
    EXPECT_EQ(std::memcmp(view.scales, scales.data(), scales.size()), 0);
  };
  const std::int64_t step = model.interleaved ? 2 : 1;
  const std::int64_t up = model.interleaved ? 1 : kRoundedInner;
  for (std::int64_t e = 0; e < kRoundedExperts; ++e) {
    SCOPED_TRACE(e);
    const CheckpointExpert loaded = after.expert(layer, e);
    const auto rows = [&](const std::string& name, std::array<std::int64_t, 3> which) {
      return rows_of_stack<Value>(before, name, e, model, which);
    };
    const std::string down = layer.prefix + ".down_proj";
    expect_matrix(loaded.expert.gate, rows(gate_up, {0, step, kRoundedInner}), amax(gate_up, e));
    expect_matrix(loaded.expert.up, rows(gate_up, {up, step, kRoundedInner}), amax(gate_up, e));
    expect_matrix(loaded.expert.down, rows(down, {0, 1, kRoundedHidden}), amax(down, e));
    EXPECT_EQ(loaded.expert.up_bias != nullptr, model.biases);
    if (!model.biases) continue;
    const std::vector<float> bias = before.values(*before.find(gate_up + "_bias"));
    const std::vector<float> down_bias = before.values(*before.find(down + "_bias"));
    for (std::int64_t r = 0; r < kRoundedInner; ++r) {
      const float* of_expert = bias.data() + e * 2 * kRoundedInner;
      EXPECT_EQ(loaded.expert.gate_bias[r], of_expert[r * step]);
      EXPECT_EQ(loaded.expert.up_bias[r], of_expert[up + r * step]);
    }
    for (std::int64_t r = 0; r < kRoundedHidden; ++r) {
      EXPECT_EQ(loaded.expert.down_bias[r],
                down_bias[static_cast<std::size_t>(e * kRoundedHidden + r)]);
    }
  }
}

TEST(Requantize, StacksOfExpertsAreRoundedAsTheirMakersWriteThem) {
  for (const StackedModel& model : kStackedModels) {
    for (const std::string dtype : {"BF16", "F32"}) {
      for (const CheckpointFormat format :
           {CheckpointFormat::kModelOpt, CheckpointFormat::kCompressedTensors}) {
        SCOPED_TRACE(std::string(model.family) + " " + dtype + " " +
                     std::string(to_string(format)));
        const Folder folder;
        folder.write("x.safetensors", safetensors(stacked_model(model, dtype)));
        const Folder parent;
        const RequantizationReport report = requantized(folder, parent, format);
        EXPECT_EQ(report.element_count, 3 * kRoundedExperts * kRoundedHidden * kRoundedInner);
        const Checkpoint before(folder.path());
        const Checkpoint after(parent.path() / "out");
        EXPECT_EQ(before.layers().at(0).faults, std::vector<std::string>{});
        EXPECT_EQ(before.layers().at(0).hidden, kRoundedHidden);
        EXPECT_EQ(after.layers().at(0).family, model.family);
        EXPECT_EQ(after.layers().at(0).format, format);
        const bool modelopt = format == CheckpointFormat::kModelOpt;
        EXPECT_EQ(after.find(after.layers().at(0).prefix + ".gate_up_proj") != nullptr,
                  modelopt && model.modelopt_keeps);
        const auto rules = modelopt ? nvfp4::Rules::kModelOpt : nvfp4::Rules::kCompressedTensors;
        if (dtype == "F32") {
          expect_stack_rounded<float>(before, after, model, rules);
        } else {
          expect_stack_rounded<Bf16>(before, after, model, rules);
        }
        expect_copied(before, after, "askew");
        expect_copied(before, after, std::string(model.module) + "." + model.router);
      }
    }
  }
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
  const auto stack_of = [](const std::string& dtype, std::int64_t hidden) {
    const std::int64_t bits = dtype == "BF16" ? 16 : 8;
    const std::string module = "model.layers.0.mlp.";
    return std::vector<SampleTensor>{
        noisy(module + "experts.gate_up_proj", dtype, {2, hidden, 96}, bits),
        noisy(module + "experts.down_proj", dtype, {2, 48, hidden}, bits),
        noisy(module + "router.weight", "BF16", {2, hidden}, 16)};
  };
  std::vector<SampleTensor> twice = stack_of("BF16", 32);
  twice.push_back(weights("model.layers.0.mlp.experts.0.up_proj.weight", "BF16", 48, 32));
  std::vector<SampleTensor> stack_with_nan = stacked_model(kStackedModels[0], "BF16");
  const std::size_t at = 2 * (kRoundedHidden * 2 * kRoundedInner + 2 * 2 * kRoundedInner + 3);
  stack_with_nan[1].bytes.replace(at, 2, "\xc0\x7f");
  const Refusal refusals[] = {
      {"nan", with_nan, "row 1, column 5: nan cannot be quantised"},
      {"fp8", fp8, "is F8_E4M3; BF16, F16 or F32 can be quantised"},
      {"odd", odd, "a multiple of 16"},
      {"missing", missing, "has no tensor"},
      {"stack of fp8", stack_of("F8_E4M3", 32), "is F8_E4M3; BF16, F16 or F32 can be quantised"},
      {"stack of odd rows", stack_of("BF16", 24), "a multiple of 16"},
      {"stack and experts", twice, "stands beside the stack"},
      {"stack of nan", stack_with_nan, "expert 1: row 2, column 3: nan"},
      {"mxfp4",
       {noisy("model.layers.0.mlp.experts.gate_up_proj_blocks", "U8", {2, 96, 1, 16}, 8),
        noisy("model.layers.0.mlp.router.weight", "BF16", {2, 32}, 16)},
       "experts are MXFP4"},
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

// Layer 0 has NVFP4 experts, layer 1's are plain; attention is FP8, but for a plain one.
void write_partly(const Folder& folder, bool modelopt) {
  std::vector<SampleTensor> tensors;
  for (const char* part : {"gate_proj", "up_proj", "down_proj"}) {
    const std::string module = std::string("model.layers.0.mlp.experts.0.") + part;
    const bool down = part[0] == 'd';
    add_matrix(tensors, modelopt, module, down ? 32 : 48, down ? 48 : 32, 0.5f, 0);
    tensors.push_back(weights(std::string("model.layers.1.mlp.experts.0.") + part + ".weight",
                              "BF16", down ? 32 : 48, down ? 48 : 32));
  }
  for (const char* layer : {"0", "1"}) {
    const std::string prefix = std::string("model.layers.") + layer + ".";
    tensors.push_back(weights(prefix + "mlp.gate.weight", "BF16", 1, 32));
    tensors.push_back(noisy(prefix + "self_attn.q_proj.weight", "F8_E4M3", {32, 32}, 8));
    tensors.push_back({prefix + "self_attn.q_proj.weight_scale", "F32", {}, bytes_of(0.5f)});
    tensors.push_back(weights(prefix + "self_attn.o_proj.weight", "BF16", 32, 32));
  }
  folder.write("x.safetensors", safetensors(tensors));
}

// What the new files say; nothing is quantised but layer 1.
struct Merged {
  nlohmann::json config;
  nlohmann::json quant;
};

Merged merge(const Folder& folder, CheckpointFormat format) {
  const Folder parent;
  const std::filesystem::path to = parent.path() / "out";
  EXPECT_EQ(requantize({.from = folder.path(), .to = to, .format = format}).matrix_count, 3);
  const Checkpoint before(folder.path());
  const Checkpoint after(to);
  EXPECT_EQ(after.layers().size(), 2u);
  for (const CheckpointLayer& layer : after.layers()) {
    EXPECT_EQ(layer.format, format);
    EXPECT_EQ(layer.faults, std::vector<std::string>{});
  }
  for (const Tensor& tensor : before.tensors()) {
    const bool rounded = tensor.name.starts_with("model.layers.1.mlp.experts");
    if (!rounded) expect_copied(before, after, tensor.name);
  }
  Merged merged{.config = nlohmann::json::parse(std::ifstream(to / "config.json"))};
  if (std::filesystem::exists(to / "hf_quant_config.json")) {
    merged.quant = nlohmann::json::parse(std::ifstream(to / "hf_quant_config.json"));
  }
  return merged;
}

const nlohmann::json kRoundedModules{"model.layers.1.mlp.experts.0.gate_proj",
                                     "model.layers.1.mlp.experts.0.up_proj",
                                     "model.layers.1.mlp.experts.0.down_proj"};
const nlohmann::json kGatesLeft{"model.layers.0.mlp.gate", "model.layers.1.mlp.gate"};

TEST(Requantize, WhatIsQuantisedInPartSaysBothInCompressedTensors) {
  const Folder folder;
  write_partly(folder, false);
  folder.write("config.json", R"({"model_type":"qwen3_moe","quantization_config":{
    "config_groups":{
      "group_0":{"targets":["Linear"],"weights":{"num_bits":8}},
      "group_1":{"format":"nvfp4-pack-quantized","targets":["re:.*layers.0.*experts.*"]}},
    "format":"float-quantized","ignore":["lm_head","re:.*layers.1.mlp.*","re:.*o_proj",
      "model.layers.0.mlp.gate"],
    "kv_cache_scheme":{"num_bits":8},"quant_method":"compressed-tensors"}})");
  const nlohmann::json said =
      merge(folder, CheckpointFormat::kCompressedTensors).config["quantization_config"];
  EXPECT_EQ(said["format"], "mixed-precision");
  EXPECT_EQ(said["config_groups"]["group_0"],
            nlohmann::json::parse(
                R"({"format":"float-quantized","targets":["Linear"],"weights":{"num_bits":8}})"));
  EXPECT_EQ(said["config_groups"]["group_1"]["targets"][0], "re:.*layers.0.*experts.*");
  EXPECT_EQ(said["config_groups"]["group_2"]["format"], "nvfp4-pack-quantized");
  EXPECT_EQ(said["config_groups"]["group_2"]["targets"], kRoundedModules);
  EXPECT_EQ(said["ignore"], (nlohmann::json{"lm_head", "model.layers.1.mlp.gate", "re:.*o_proj",
                                            "model.layers.0.mlp.gate"}));
  EXPECT_EQ(said["kv_cache_scheme"]["num_bits"], 8);
}

TEST(Requantize, WhatIsNvfp4InPartStaysThat) {
  const Folder folder;
  write_partly(folder, false);
  folder.write("config.json", R"({"quantization_config":{
    "config_groups":{"group_0":{"targets":["Linear"]}},
    "format":"nvfp4-pack-quantized","quant_method":"compressed-tensors"}})");
  const nlohmann::json said =
      merge(folder, CheckpointFormat::kCompressedTensors).config["quantization_config"];
  EXPECT_EQ(said["format"], "nvfp4-pack-quantized");
  EXPECT_EQ(said["config_groups"]["group_1"]["targets"], kRoundedModules);
}

TEST(Requantize, WhatIsQuantisedInPartIsMixedPrecisionInModelOpt) {
  constexpr const char* kConfig = R"({"quantization_config":{
    "config_groups":{"group_0":{"targets":["Linear"],"weights":{"num_bits":8}}},
    "ignore":["lm_head","*mlp*"],"quant_algo":"FP8","quant_method":"modelopt"}})";
  constexpr const char* kQuantConfig = R"({"producer":{"name":"modelopt"},"quantization":{
    "quant_algo":"FP8","kv_cache_quant_algo":"FP8","exclude_modules":["lm_head","*mlp*"]}})";
  // Either file may be alone.
  for (const auto& [config, quant] :
       {std::pair{kConfig, kQuantConfig}, std::pair{kConfig, ""}, std::pair{"{}", kQuantConfig}}) {
    const Folder folder;
    write_partly(folder, true);
    folder.write("config.json", config);
    if (*quant != '\0') folder.write("hf_quant_config.json", quant);
    const Merged merged = merge(folder, CheckpointFormat::kModelOpt);
    const nlohmann::json& details = merged.quant["quantization"];
    const nlohmann::json& said = merged.config["quantization_config"];
    nlohmann::json excluded = kGatesLeft;
    excluded.insert(excluded.begin(), "lm_head");
    EXPECT_EQ(details["exclude_modules"], excluded);
    EXPECT_EQ(said["ignore"], excluded);
    EXPECT_EQ(said["quant_method"], "modelopt");
    for (const nlohmann::json& one : {details, said}) {
      EXPECT_EQ(one["quant_algo"], "MIXED_PRECISION");
      const nlohmann::json& layers = one["quantized_layers"];
      EXPECT_EQ(layers.size(), 8u);
      EXPECT_EQ(layers["model.layers.1.self_attn.q_proj"]["quant_algo"], "FP8");
      for (const nlohmann::json& module : kRoundedModules) {
        EXPECT_EQ(layers[module.get<std::string>()],
                  (nlohmann::json{{"quant_algo", "W4A16_NVFP4"}, {"group_size", 16}}));
      }
    }
    if (config == kConfig) {
      EXPECT_EQ(said["config_groups"]["group_0"]["targets"].size(), 5u);
      EXPECT_EQ(said["config_groups"]["group_1"]["targets"], kRoundedModules);
    }
    if (*quant != '\0') {
      EXPECT_EQ(details["kv_cache_quant_algo"], "FP8");
    }
  }
}

TEST(Requantize, WhatIsMixedAlreadyKeepsItsNames) {
  const Folder folder;
  write_partly(folder, true);
  folder.write("config.json", "{}");
  folder.write("hf_quant_config.json", R"({"quantization":{"quant_algo":"MIXED_PRECISION",
    "quantized_layers":{"model.layers.0.self_attn.q_proj":{"quant_algo":"FP8"}}}})");
  const nlohmann::json layers =
      merge(folder, CheckpointFormat::kModelOpt).quant["quantization"]["quantized_layers"];
  EXPECT_EQ(layers.size(), 4u);
  EXPECT_EQ(layers["model.layers.0.self_attn.q_proj"]["quant_algo"], "FP8");
}

// What would not be true any more when more is quantised, or cannot be said beside it.
TEST(Requantize, WhatIsQuantisedInAnotherWayIsRefused) {
  constexpr CheckpointFormat kModelOpt = CheckpointFormat::kModelOpt;
  constexpr CheckpointFormat kCompressed = CheckpointFormat::kCompressedTensors;
  struct Said {
    const char* file;
    const char* text;
    const char* complaint;  // "no error"
    std::vector<CheckpointFormat> formats = {kModelOpt, kCompressed};
  };
  const Said all[] = {
      {"config.json", R"({"quantization_config":{"quant_method":"fp8"}})",
       "config.json: 'quantization_config' says how"},
      {"config.json", R"({"quantization_config":[1]})",
       "config.json: 'quantization_config' says how"},
      {"config.json",
       R"({"quantization_config":{"quant_method":"modelopt","quant_algo":"FP8"}})",
       "unless it is of the same maker's format",
       {kCompressed}},
      {"config.json",
       R"({"quantization_config":{"quant_method":"compressed-tensors"}})",
       "unless it is of the same maker's format",
       {kModelOpt}},
      {"config.json", R"({"text_config":{"quantization_config":{"quant_method":"fp8"}}})",
       "config.json: 'text_config' has a 'quantization_config' says how"},
      {"config.json", R"({"compression_config":{"format":"dense"}})", "'compression_config'"},
      {"hf_quant_config.json",
       R"({"quantization":{"quant_algo":"FP8"}})",
       "hf_quant_config.json says how",
       {kCompressed}},
      {"hf_quant_config.json", R"({"quantization":{}})", "not by which algorithm", {kModelOpt}},
      {"hf_quant_config.json",
       R"({"quantization":{"quant_algo":"FP8","exclude_modules":"lm_head"}})",
       "hf_quant_config.json: 'exclude_modules': is not a list",
       {kModelOpt}},
      {"hf_quant_config.json",
       R"({"quantization":{"quant_algo":"FP8","exclude_modules":[1]}})",
       "has something that is not a text",
       {kModelOpt}},
      {"hf_quant_config.json",
       R"({"quantization":{"quant_algo":"FP8","quantized_layers":[1]}})",
       "'quantized_layers' is not an object",
       {kModelOpt}},
      {"config.json",
       R"({"quantization_config":{"quant_method":"compressed-tensors","ignore":["re:(?!x)."]}})",
       "config.json: 'ignore': 're:(?!x).' is not understood",
       {kCompressed}},
      {"config.json",
       R"({"quantization_config":{"quant_method":"compressed-tensors","config_groups":[1]}})",
       "config.json: 'config_groups' is not an object",
       {kCompressed}},
      {"config.json",
       R"({"quantization_config":{"quant_method":"compressed-tensors","config_groups":{"a":1}}})",
       "config.json: 'a' is not an object",
       {kCompressed}},
      {"config.json", R"({"quantization_config":null,"text_config":{"quantization_config":{}}})",
       "no error"},
  };
  for (const Said& said : all) {
    for (const CheckpointFormat format : said.formats) {
      const Folder folder;
      folder.write("x.safetensors", safetensors(plain_layer("BF16", "experts.0")));
      folder.write(said.file, said.text);
      const Folder parent;
      const std::string message = complaint([&] {
        requantize({.from = folder.path(), .to = parent.path() / "out", .format = format});
      });
      EXPECT_NE(message.find(said.complaint), std::string::npos) << said.text << ": " << message;
      EXPECT_EQ(std::filesystem::is_empty(parent.path()), message != "no error");
    }
  }
}

TEST(Requantize, StacksAreNotAddedToWhatIsQuantised) {
  const Folder folder;
  folder.write("x.safetensors", safetensors(stacked_model(kStackedModels[0], "BF16")));
  folder.write("hf_quant_config.json", R"({"quantization":{"quant_algo":"FP8"}})");
  const Folder parent;
  const auto quantise = [&] {
    requantize({.from = folder.path(),
                .to = parent.path() / "out",
                .format = CheckpointFormat::kModelOpt});
  };
  ASSERT_TRUE(kStackedModels[0].modelopt_keeps);
  EXPECT_NE(complaint(quantise).find("how stacks of experts would be added"), std::string::npos);
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
