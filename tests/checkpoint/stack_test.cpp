// SPDX-License-Identifier: Apache-2.0
// Stacked experts: transposed while they are read, gate's rows apart from up's.
#include "checkpoint/stack.hpp"

#include <gtest/gtest.h>

#include "checkpoint/sample.hpp"
#include "thresher/checkpoint.hpp"

namespace thresher::checkpoint {
namespace {

TEST(CheckpointStack, BytesAreTransposedAtAnySize) {
  for (const std::int64_t rows : {1, 2, 7, 8, 64, 66, 200}) {
    for (const std::int64_t columns : {1, 8, 9, 255, 256, 300}) {
      const std::string in = noise("in", static_cast<std::size_t>(rows * columns));
      for (const bool interleaved : {false, true}) {
        std::string out(in.size(), '\0');
        transpose_bytes(reinterpret_cast<const std::uint8_t*>(in.data()), rows, columns,
                        interleaved, reinterpret_cast<std::uint8_t*>(out.data()));
        std::string expected(in.size(), '\0');
        for (std::int64_t r = 0; r < rows; ++r) {
          const std::int64_t to = interleaved ? r / 2 + (r % 2 == 0 ? 0 : (rows + 1) / 2) : r;
          for (std::int64_t c = 0; c < columns; ++c) {
            expected[static_cast<std::size_t>(to * columns + c)] =
                in[static_cast<std::size_t>(c * rows + r)];
          }
        }
        EXPECT_EQ(out, expected) << rows << " x " << columns << " " << interleaved;
      }
    }
  }
}

constexpr std::int64_t kStackExperts = 3;
constexpr std::int64_t kStackHidden = 32;
constexpr std::int64_t kStackIntermediate = 48;

void add_stack(std::vector<SampleTensor>& tensors, const std::string& name, std::int64_t k,
               std::int64_t n, const std::vector<float>& globals) {
  tensors.push_back(noisy(name, "U8", {kStackExperts, k / 2, n}, 8));
  tensors.push_back(noisy(name + "_weight_scale", "F8_E4M3", {kStackExperts, k / 16, n}, 8));
  std::string bytes;
  for (const float scale : globals) bytes += bytes_of(scale);
  const std::vector<std::int64_t> shape = globals.size() == 1
                                              ? std::vector<std::int64_t>{}
                                              : std::vector<std::int64_t>{kStackExperts, 1, 1};
  tensors.push_back({name + "_weight_scale_2", "F32", shape, bytes});
  tensors.push_back({name + "_input_scale", "F32", {}, bytes_of(0.5f)});
  tensors.push_back(noisy(name + "_bias", "BF16", {kStackExperts, n}, 16));
}

std::vector<SampleTensor> stacked_layer(const std::string& module) {
  std::vector<SampleTensor> tensors;
  add_stack(tensors, module + ".experts.gate_up_proj", kStackHidden, 2 * kStackIntermediate,
            {1, 2, 4});
  add_stack(tensors, module + ".experts.down_proj", kStackIntermediate, kStackHidden, {8});
  tensors.push_back(noisy(module + ".router.weight", "BF16", {kStackExperts, kStackHidden}, 16));
  return tensors;
}

// What stands at (e, i, n) of a tensor of noise.
std::uint8_t at(const std::string& bytes, std::int64_t e, std::int64_t i, std::int64_t n,
                std::int64_t extent_i, std::int64_t extent_n) {
  return static_cast<std::uint8_t>(
      bytes[static_cast<std::size_t>((e * extent_i + i) * extent_n + n)]);
}

void expect_rows(const Nvfp4View& view, const std::string& name, std::int64_t e, std::int64_t first,
                 std::int64_t step, std::int64_t stack_rows) {
  const std::int64_t k = view.k_elements;
  const std::string codes =
      noise(name, static_cast<std::size_t>(kStackExperts * k / 2 * stack_rows));
  const std::string scales =
      noise(name + "_weight_scale", static_cast<std::size_t>(kStackExperts * k / 16 * stack_rows));
  for (std::int64_t r = 0; r < view.rows; ++r) {
    for (std::int64_t i = 0; i < k / 2; ++i) {
      ASSERT_EQ(view.codes[r * k / 2 + i], at(codes, e, i, first + r * step, k / 2, stack_rows));
    }
    for (std::int64_t i = 0; i < k / 16; ++i) {
      ASSERT_EQ(view.scales[r * k / 16 + i],
                at(scales, e, i, first + r * step, k / 16, stack_rows));
    }
  }
}

struct StackCase {
  const char* family;
  const char* module;
  bool interleaved;
};

TEST(CheckpointStack, ExpertsOfLlama4AndGptOssComeOutInCheckpointOrder) {
  for (const StackCase& c : {StackCase{"llama4", "model.layers.0.feed_forward", false},
                             StackCase{"gpt_oss", "model.layers.0.mlp", true}}) {
    SCOPED_TRACE(c.family);
    const Folder folder;
    const Checkpoint checkpoint(
        folder.write("x.safetensors", safetensors(stacked_layer(c.module))));
    const CheckpointLayer& layer = checkpoint.layers().at(0);
    EXPECT_EQ(layer.faults, std::vector<std::string>{});
    EXPECT_EQ(layer.family, c.family);
    EXPECT_EQ(layer.expert_count, kStackExperts);
    EXPECT_EQ(layer.hidden, kStackHidden);
    EXPECT_EQ(layer.intermediate, kStackIntermediate);
    EXPECT_TRUE(layer.has_biases);
    EXPECT_TRUE(layer.has_input_scales);
    const std::string gate_up = layer.prefix + ".gate_up_proj";
    const std::int64_t step = c.interleaved ? 2 : 1;
    const std::int64_t up = c.interleaved ? 1 : kStackIntermediate;
    for (std::int64_t e = 0; e < kStackExperts; ++e) {
      const CheckpointExpert loaded = checkpoint.expert(layer, e);
      const MoeExpert& expert = loaded.expert;
      expect_rows(expert.gate, gate_up, e, 0, step, 2 * kStackIntermediate);
      expect_rows(expert.up, gate_up, e, up, step, 2 * kStackIntermediate);
      expect_rows(expert.down, layer.prefix + ".down_proj", e, 0, 1, kStackHidden);
      EXPECT_EQ(expert.gate.global_scale, static_cast<float>(1 << e));
      EXPECT_EQ(expert.up.global_scale, static_cast<float>(1 << e));
      EXPECT_EQ(expert.down.global_scale, 8.0f);
      EXPECT_EQ(expert.input_scale, 0.5f);
      const std::vector<float> bias = checkpoint.values(*checkpoint.find(gate_up + "_bias"));
      const auto bias_at = [&](std::int64_t row) {
        return bias[static_cast<std::size_t>(e * 2 * kStackIntermediate + row)];
      };
      for (std::int64_t r = 0; r < kStackIntermediate; ++r) {
        ASSERT_EQ(
            std::memcmp(&expert.gate_bias[r], &static_cast<const float&>(bias_at(r * step)), 4), 0);
        ASSERT_EQ(
            std::memcmp(&expert.up_bias[r], &static_cast<const float&>(bias_at(up + r * step)), 4),
            0);
      }
    }
  }
}

TEST(CheckpointStack, FaultsNameTheTensor) {
  struct StackFault {
    const char* suffix;
    SampleTensor instead;
    const char* complaint;
  };
  const std::string stack = "model.layers.0.mlp.experts.gate_up_proj";
  const StackFault faults[] = {
      {"_weight_scale", noisy(stack + "_other", "F8_E4M3", {3, 2, 96}, 8), "there is no"},
      {"_weight_scale_2", noisy(stack + "_weight_scale_2", "F32", {2}, 32), "one for each of 3"},
      {"_weight_scale", noisy(stack + "_weight_scale", "F8_E4M3", {3, 96, 2}, 8), "has shape"},
      {"_weight_scale", noisy(stack + "_weight_scale", "U8", {3, 2, 96}, 8), "F8_E4M3 is needed"},
      {"_bias", noisy(stack + "_bias", "BF16", {3, 95}, 16), "has shape [3, 95]"},
      {"", noisy(stack, "U8", {3, 16 * 96}, 8), "a stack of matrices is needed"},
      {"", noisy(stack, "U8", {2, 16, 96}, 8), "has shape"},
      {"", noisy(stack, "U8", {3, 17, 96}, 8), "not a multiple of 16"},
      {"", noisy(stack, "U8", {0, 16, 96}, 8), "has shape [0, 16, 96], and so no experts"},
      {"_bias", noisy(stack + "_bias", "I64", {3, 96}, 64), "is I64; F32"},
      {"", noisy(stack + "_other", "U8", {3, 16, 96}, 8), "has no tensor '"},
  };
  const Folder folder;
  for (const StackFault& fault : faults) {
    std::vector<SampleTensor> tensors = stacked_layer("model.layers.0.mlp");
    for (SampleTensor& tensor : tensors) {
      if (tensor.name == stack + fault.suffix) tensor = fault.instead;
    }
    const Checkpoint checkpoint(folder.write("x.safetensors", safetensors(tensors)));
    const std::string message = checkpoint.layers().at(0).faults.at(0);
    EXPECT_NE(message.find(fault.complaint), std::string::npos) << message;
    EXPECT_EQ(complaint([&] { checkpoint.expert(checkpoint.layers()[0], 0); }), message);
  }
}

// Who would compute with one of two?
TEST(CheckpointStack, ExpertsBesideAStackAreAFault) {
  std::vector<SampleTensor> tensors = stacked_layer("model.layers.0.mlp");
  add_matrix(tensors, true, "model.layers.0.mlp.experts.1.up_proj", 48, 32, 1, 0);
  const Folder folder;
  const Checkpoint checkpoint(folder.write("x.safetensors", safetensors(tensors)));
  const CheckpointLayer& layer = checkpoint.layers().at(0);
  const std::string fault =
      "tensor 'model.layers.0.mlp.experts.1.up_proj.weight' stands beside the stack of experts "
      "'model.layers.0.mlp.experts.gate_up_proj'; which of them counts?";
  EXPECT_EQ(layer.faults.at(0), fault);
  EXPECT_EQ(complaint([&] { checkpoint.expert(layer, 0); }), fault);
}

TEST(CheckpointStack, ExpertsWithoutAGateAreNoStack) {
  const Folder folder;
  const Checkpoint checkpoint(
      folder.write("x.safetensors", safetensors(stacked_layer("backbone.layers.0.mixer"))));
  EXPECT_EQ(checkpoint.layers().at(0).faults.at(0),
            "backbone.layers.0.mixer.experts.gate_up_proj: experts of the family 'nemotron' have "
            "no gate, and cannot be a stack");
}

TEST(CheckpointStack, ANanBiasIsNamedByItsByte) {
  std::vector<SampleTensor> tensors = stacked_layer("model.layers.0.mlp");
  SampleTensor& bias = tensors[4];
  ASSERT_EQ(bias.name, "model.layers.0.mlp.experts.gate_up_proj_bias");
  bias.bytes.replace(2 * (96 + 5), 2, "\xc1\x7f");
  const Folder folder;
  const Checkpoint checkpoint(folder.write("x.safetensors", safetensors(tensors)));
  const CheckpointLayer& layer = checkpoint.layers().at(0);
  EXPECT_EQ(complaint([&] { checkpoint.expert(layer, 0); }), "no error");
  EXPECT_NE(complaint([&] { checkpoint.expert(layer, 1); }).find("value 101 of it"),
            std::string::npos);
}

TEST(CheckpointStack, ANanScaleIsNamedByItsByte) {
  std::vector<SampleTensor> tensors = stacked_layer("model.layers.0.mlp");
  tensors[1].bytes[2 * 192 + 7] = '\x7f';
  const Folder folder;
  const Checkpoint checkpoint(folder.write("x.safetensors", safetensors(tensors)));
  const CheckpointLayer& layer = checkpoint.layers().at(0);
  EXPECT_EQ(complaint([&] { checkpoint.expert(layer, 1); }), "no error");
  EXPECT_NE(complaint([&] { checkpoint.expert(layer, 2); }).find("scale 391 of it"),
            std::string::npos);
}

}  // namespace
}  // namespace thresher::checkpoint
