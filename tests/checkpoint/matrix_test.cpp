// SPDX-License-Identifier: Apache-2.0
// What is wrong with a matrix is said with file, tensor and offset, before a layer is made of it.
#include "checkpoint/matrix.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "checkpoint/sample.hpp"
#include "thresher/checkpoint.hpp"

namespace thresher::checkpoint {
namespace {

using Tensors = std::vector<SampleTensor>;

constexpr const char* kModule = "model.layers.0.mlp.experts.0.up_proj";

Tensors layer_tensors(bool modelopt) {
  Tensors tensors;
  for (int e = 0; e < 2; ++e) {
    const std::string prefix = "model.layers.0.mlp.experts." + std::to_string(e) + ".";
    add_matrix(tensors, modelopt, prefix + "gate_proj", 48, 32, 1, 1);
    add_matrix(tensors, modelopt, prefix + "up_proj", 48, 32, 1, 1);
    add_matrix(tensors, modelopt, prefix + "down_proj", 32, 48, 1, 1);
  }
  return tensors;
}

SampleTensor& called(Tensors& tensors, const std::string& suffix) {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const SampleTensor& tensor) {
    return tensor.name == kModule + suffix;
  });
  if (found == tensors.end()) throw Error("no tensor " + suffix);
  return *found;
}

void replace(Tensors& tensors, const std::string& suffix, const std::string& dtype,
             std::vector<std::int64_t> shape, std::int64_t bits) {
  SampleTensor& tensor = called(tensors, suffix);
  tensor = noisy(tensor.name, dtype, std::move(shape), bits);
}

struct Fault {
  const char* name;
  bool modelopt;
  std::function<void(Tensors&)> break_it;
  std::string complaint;
  bool in_the_bytes = false;  // and so seen only when the expert is loaded
};

const float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<Fault> all_faults() {
  const std::string place = std::string("x.safetensors: tensor '") + kModule;
  std::vector<Fault> faults;
  for (const bool modelopt : {true, false}) {
    const std::string codes = modelopt ? ".weight" : ".weight_packed";
    const std::string global = modelopt ? ".weight_scale_2" : ".weight_global_scale";
    const std::string input = modelopt ? ".input_scale" : ".input_global_scale";
    const auto set = [](const std::string& name, float value) {
      return [name, value](Tensors& t) { called(t, name).bytes = bytes_of(value); };
    };
    const auto drop = [](const std::string& name) {
      return [name](Tensors& t) { t.erase(t.begin() + (&called(t, name) - t.data())); };
    };
    const auto become = [](const std::string& name, const char* dtype,
                           std::vector<std::int64_t> shape, std::int64_t bits) {
      return [=](Tensors& t) { replace(t, name, dtype, shape, bits); };
    };
    const std::string missing = "x.safetensors: has no tensor '" + std::string(kModule);
    faults.insert(
        faults.end(),
        {{"no_codes", modelopt, drop(codes), missing + ".weight'"},
         {"no_scales", modelopt, drop(".weight_scale"), missing + ".weight_scale'"},
         {"no_global", modelopt, drop(global), missing + global + "'"},
         {"wide_codes", modelopt, become(codes, "U8", {48, 24}, 8), ".weight_scale'"},
         {"odd_codes", modelopt, become(codes, "U8", {48, 17}, 8), "not a multiple of 16"},
         {"flat_codes", modelopt, become(codes, "U8", {48 * 16}, 8), "a matrix is needed"},
         {"signed_codes", modelopt, become(codes, "I8", {48, 16}, 8),
          modelopt ? "is I8 (none)" : "is I8, U8 is needed"},
         {"few_rows", modelopt,
          [=](Tensors& t) {
            replace(t, codes, "U8", {47, 16}, 8);
            replace(t, ".weight_scale", "F8_E4M3", {47, 2}, 8);
          },
          "is a matrix of 47 x 32, 48 x 32 is needed"},
         {"flat_scales", modelopt, become(".weight_scale", "F8_E4M3", {96}, 8),
          "has shape [96], [48, 2] is needed"},
         {"float_scales", modelopt, become(".weight_scale", "F16", {48, 2}, 16),
          modelopt ? "is F16, F8_E4M3 is needed" : "is F16, F8_E4M3 is needed"},
         {"two_globals", modelopt, become(global, "F32", {2}, 32), "one value is needed"},
         {"half_global", modelopt, become(global, "BF16", {}, 16), "is BF16, F32 is needed"},
         {"two_inputs", modelopt, become(input, "F32", {2}, 32), "one value is needed"},
         {"awq", modelopt,
          [](Tensors& t) {
            t.push_back(noisy(std::string(kModule) + ".pre_quant_scale", "BF16", {32}, 16));
          },
          ".pre_quant_scale' at byte"},
         {"long_bias", modelopt,
          [](Tensors& t) { t.push_back(noisy(std::string(kModule) + ".bias", "F32", {49}, 32)); },
          "has shape [49], [48] is needed"},
         {"whole_bias", modelopt,
          [](Tensors& t) { t.push_back(noisy(std::string(kModule) + ".bias", "I64", {48}, 64)); },
          "is I64; F32, BF16, F16 or F64 is needed"},
         {"nan_bias", modelopt,
          [](Tensors& t) {
            t.push_back(noisy(std::string(kModule) + ".bias", "F32", {48}, 32));
            t.back().bytes.replace(4 * 7, 4, bytes_of(kNan));
          },
          "value 7 of it, byte", true},
         {"nan_global", modelopt, set(global, kNan), place + global, true},
         {"zero_global", modelopt, set(global, 0), "a scale of 0", true},
         {"negative_global", modelopt, set(global, -1), "a scale of -1", true},
         {"infinite_global", modelopt, set(global, std::numeric_limits<float>::infinity()),
          "a scale of inf", true},
         {"nan_input", modelopt, set(input, kNan), place + input, true},
         {"nan_scale", modelopt, [](Tensors& t) { called(t, ".weight_scale").bytes[5] = '\x7f'; },
          "scale 5 of it", true},
         {"negative_nan_scale", modelopt,
          [](Tensors& t) { called(t, ".weight_scale").bytes[95] = '\xff'; }, "is NaN (0xff)",
          true}});
  }
  faults.push_back(
      {"both_spellings", true,
       [](Tensors& t) {
         t.push_back(noisy(std::string(kModule) + ".weight_packed", "U8", {48, 16}, 8));
       },
       "which of them counts?"});
  faults.push_back(
      {"mixed_formats", true,
       [](Tensors& t) {
         for (const char* name : {".weight", ".weight_scale", ".weight_scale_2", ".input_scale"}) {
           t.erase(t.begin() + (&called(t, name) - t.data()));
         }
         add_matrix(t, false, kModule, 48, 32, 1, 1);
       },
       "is NVFP4 (compressed-tensors), where 'model.layers.0.mlp.experts.0.gate_proj.weight' is "
       "NVFP4 (modelopt)"});
  return faults;
}

TEST(CheckpointMatrix, FaultsNameFileTensorAndOffset) {
  const Folder folder;
  for (const Fault& fault : all_faults()) {
    SCOPED_TRACE(std::string(fault.name) + (fault.modelopt ? " modelopt" : " compressed-tensors"));
    Tensors tensors = layer_tensors(fault.modelopt);
    fault.break_it(tensors);
    const Checkpoint checkpoint(folder.write("x.safetensors", safetensors(tensors)));
    const CheckpointLayer& layer = checkpoint.layers().at(0);
    const std::string message = complaint([&] { checkpoint.expert(layer, 0); });
    EXPECT_NE(message.find(fault.complaint), std::string::npos) << message;
    EXPECT_EQ(message.rfind("x.safetensors: ", 0), 0u) << message;
    EXPECT_EQ(layer.faults.empty(), fault.in_the_bytes);
    if (!layer.faults.empty()) {
      EXPECT_EQ(layer.faults[0], message);
    }
  }
}

TEST(CheckpointMatrix, TheOffsetIsThatOfTheByte) {
  Tensors tensors = layer_tensors(true);
  called(tensors, ".weight_scale").bytes[5] = '\x7f';
  const std::string file = safetensors(tensors);
  const Folder folder;
  const Checkpoint checkpoint(folder.write("x.safetensors", file));
  const std::string message = complaint([&] { checkpoint.expert(checkpoint.layers().at(0), 0); });
  const std::size_t offset = file.find('\x7f', 8 + file.rfind("]}}"));
  EXPECT_NE(message.find("byte " + std::to_string(offset) + " of the file"), std::string::npos)
      << message << " " << offset;
}

// AutoRound's spelling: compressed-tensors' names, scales without a dimension.
TEST(CheckpointMatrix, ScalesMayHaveNoDimension) {
  Tensors tensors;
  add_matrix(tensors, false, kModule, 48, 32, 0.25f, 0.5f);
  called(tensors, ".weight_global_scale").shape = {};
  called(tensors, ".input_global_scale").shape = {};
  const Folder folder;
  const Checkpoint checkpoint(folder.write("x.safetensors", safetensors(tensors)));
  const CheckpointMatrix matrix = checkpoint.matrix(kModule);
  EXPECT_EQ(matrix.view.global_scale, 0.25f);
  EXPECT_EQ(matrix.input_scale, 0.5f);
}

TEST(CheckpointMatrix, ALinearLayerOutlivesItsCheckpoint) {
  const Folder folder;
  const auto path = folder.write("x.safetensors", safetensors(layer_tensors(true)));
  for (const bool mapped : {true, false}) {
    auto checkpoint = std::make_unique<Checkpoint>(path, CheckpointOptions{.mapped = mapped});
    const CheckpointMatrix matrix = checkpoint->matrix(kModule);
    checkpoint.reset();
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(matrix.view.codes), 48 * 16),
              noise(std::string(kModule) + ".weight", 48 * 16));
  }
}

TEST(CheckpointMatrix, ValuesOfAllFloatsAreConverted) {
  const auto bytes = [](auto value) {
    std::string text(sizeof value, '\0');
    std::memcpy(text.data(), &value, sizeof value);
    return text;
  };
  const Folder folder;
  const Checkpoint checkpoint(folder.write(
      "x.safetensors", safetensors({{"f32", "F32", {1}, bytes(1.5f)},
                                    {"f64", "F64", {1}, bytes(1.5)},
                                    {"bf16", "BF16", {1}, bytes(std::uint16_t{0x3fc0})},
                                    {"f16", "F16", {1}, bytes(std::uint16_t{0x3e00})},
                                    {"i32", "I32", {1}, bytes(1)}})));
  for (const char* name : {"f32", "f64", "bf16", "f16"}) {
    EXPECT_EQ(checkpoint.values(*checkpoint.find(name)), std::vector<float>{1.5f}) << name;
  }
  EXPECT_NE(complaint([&] { checkpoint.values(*checkpoint.find("i32")); }).find("is I32"),
            std::string::npos);
  for (const auto& [dtype, nan] :
       {std::pair("F32", bytes(kNan)), std::pair("F64", bytes(double{kNan})),
        std::pair("BF16", bytes(std::uint16_t{0x7fc1})),
        std::pair("F16", bytes(std::uint16_t{0xfe00}))}) {
    const std::string file = safetensors({{"t", dtype, {2}, std::string(nan.size(), '\0') + nan}});
    const Checkpoint broken(folder.write("nan.safetensors", file));
    EXPECT_EQ(complaint([&] { broken.values(*broken.find("t")); }),
              "nan.safetensors: tensor 't' at byte " +
                  std::to_string(file.size() - 2 * nan.size()) + ": value 1 of it, byte " +
                  std::to_string(file.size() - nan.size()) + " of the file, is NaN");
  }
  Tensor stranger = *checkpoint.find("f32");
  stranger.offset = 1u << 30;
  EXPECT_EQ(complaint([&] { checkpoint.bytes(stranger); }),
            "tensor 'f32' is not one of this checkpoint");
}

}  // namespace
}  // namespace thresher::checkpoint
