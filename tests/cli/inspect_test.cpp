// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "checkpoint/sample.hpp"
#include "child.hpp"

namespace thresher::cli {
namespace {

using checkpoint::add_matrix;
using checkpoint::Folder;
using checkpoint::noisy;
using checkpoint::safetensors;
using checkpoint::SampleTensor;

// Two NVFP4 layers with scales of their own for gate and up, and one in BF16.
std::vector<SampleTensor> sample_model() {
  std::vector<SampleTensor> tensors;
  for (int layer = 0; layer < 3; ++layer) {
    const std::string expert = "model.layers." + std::to_string(layer) + ".mlp.experts.0.";
    if (layer == 2) {
      tensors.push_back(noisy(expert + "gate_proj.weight", "BF16", {48, 32}, 16));
      tensors.push_back(noisy(expert + "up_proj.weight", "BF16", {48, 32}, 16));
      tensors.push_back(noisy(expert + "down_proj.weight", "BF16", {32, 48}, 16));
    } else {
      add_matrix(tensors, true, expert + "gate_proj", 48, 32, 0.25f, 0);
      add_matrix(tensors, true, expert + "up_proj", 48, 32, 0.5f, 0);
      add_matrix(tensors, true, expert + "down_proj", 32, 48, 0.5f, 0);
    }
  }
  return tensors;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Inspect, SaysWhatRunsLayerByLayer) {
  const Folder folder;
  folder.write("model.safetensors", safetensors(sample_model()));
  folder.write("config.json", R"({"model_type":"qwen3_moe","num_experts_per_tok":1})");
  const Outcome text = run_thresher({"inspect", folder.path(), "--deep"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_TRUE(has(text.out, "1 file, 21 tensors")) << text.out;
  EXPECT_TRUE(has(text.out, "model_type qwen3_moe")) << text.out;
  const Outcome outcome = run_thresher({"inspect", folder.path(), "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto found = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(found["layers"].size(), 3u);
  const auto& first = found["layers"][0];
  EXPECT_EQ(first["family"], "qwen");
  EXPECT_EQ(first["format"], "modelopt");
  EXPECT_EQ(first["runs_as"], nlohmann::json{"W4A16"});
  EXPECT_EQ(first["global_scale_min"], 0.25);
  EXPECT_EQ(first["global_scale_max"], 0.5);
  EXPECT_EQ(first["gate_up_scales_differ"], 1);
  EXPECT_EQ(found["layers"][2]["dtype"], "BF16");
  EXPECT_TRUE(found["layers"][2]["runs_as"].empty());
}

TEST(Inspect, PacksAndSaysHowFast) {
  const Folder folder;
  const std::string path = folder.write("x.safetensors", safetensors(sample_model()));
  const Outcome outcome = run_thresher({"inspect", path, "--pack", "cpu", "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto speed = nlohmann::json::parse(outcome.out.substr(outcome.out.find('\n') + 1));
  EXPECT_EQ(speed["layers"], 2);  // the third is BF16
  EXPECT_EQ(speed["experts"], 2);
  EXPECT_EQ(speed["bytes"], 2 * 3 * (48 * 32 / 2 + 48 * 32 / 16 + 4));
  for (const char* what : {"read", "pack_cold", "pack", "copy"}) {
    EXPECT_GT(speed[std::string(what) + "_gb_per_s"], 0) << what;
  }
  const std::string plain = folder.write(
      "y.safetensors",
      safetensors({noisy("model.layers.0.mlp.experts.0.up_proj.weight", "BF16", {48, 32}, 16)}));
  EXPECT_TRUE(has(run_thresher({"inspect", plain, "--pack", "cpu"}).err, "no NVFP4 experts"));
  EXPECT_TRUE(has(run_thresher({"inspect", path, "--pack", "abacus"}).err, "abacus"));
}

TEST(Inspect, FaultsAreListedAndTheAnswerIsNo) {
  std::vector<SampleTensor> tensors = sample_model();
  tensors[1].bytes[3] = '\x7f';
  const Folder folder;
  const std::string path = folder.write("x.safetensors", safetensors(tensors));
  EXPECT_EQ(run_thresher({"inspect", path}).exit_code, 0);
  const Outcome deep = run_thresher({"inspect", path, "--deep"});
  EXPECT_EQ(deep.exit_code, 1);
  EXPECT_TRUE(has(deep.out,
                  "fault: x.safetensors: tensor 'model.layers.0.mlp.experts.0."
                  "gate_proj.weight_scale' at byte "))
      << deep.out;
  tensors[2].bytes = checkpoint::bytes_of(0);
  folder.write("x.safetensors", safetensors(tensors));
  const Outcome zero = run_thresher({"inspect", path});
  EXPECT_EQ(zero.exit_code, 1);
  EXPECT_TRUE(has(zero.out, "a global scale of 0 is not a positive number")) << zero.out;
  tensors.erase(tensors.begin());
  folder.write("x.safetensors", safetensors(tensors));
  const Outcome missing = run_thresher({"inspect", path});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_TRUE(has(missing.out, "has no tensor 'model.layers.0.mlp.experts.0.gate_proj.weight'"));
  const Outcome broken = run_thresher({"inspect", folder.write("y.safetensors", "not one")});
  EXPECT_EQ(broken.exit_code, 1);
  EXPECT_TRUE(has(broken.err, "thresher: y.safetensors: 7 bytes are too few")) << broken.err;
}

// The widest of models: words of the table are whole.
TEST(Inspect, TheTableFitsANarrowTerminal) {
  std::vector<SampleTensor> tensors;
  const std::string module = "model.language_model.layers.10.mlp.";
  for (const char* name : {"experts.0", "shared_expert"}) {
    const std::string expert = module + name;
    add_matrix(tensors, false, expert + ".gate_proj", 48, 32, 1.25e-4f, 0);
    add_matrix(tensors, false, expert + ".up_proj", 48, 32, 1.25e-4f, 0);
    const bool is_shared = expert.ends_with("shared_expert");
    add_matrix(tensors, false, expert + ".down_proj", 32, 48, is_shared ? 0.00321f : 2e-4f, 0);
  }
  const Folder folder;
  folder.write("x.safetensors", safetensors(tensors));
  folder.write("config.json", R"({"model_type":"qwen3_next","num_experts_per_tok":1})");
  setenv("COLUMNS", "80", 1);
  const Outcome outcome = run_thresher({"inspect", folder.path()});
  unsetenv("COLUMNS");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
  const std::string table = outcome.out.substr(outcome.out.find("\n\n") + 2);
  for (const char* word :
       {"model.language_", "layers.10", "qwen_shared", "experts of", "compressed-tensors",
        "0.000125 to", "0.00321", "silu", "top 1", "W4A16"}) {
    EXPECT_TRUE(has(table, word)) << word << " in\n" << table;
  }
  for (std::size_t at = 0; at < table.size();) {
    const std::size_t end = table.find('\n', at);
    EXPECT_LE(end - at, 80u) << table;
    at = end + 1;
  }
}

// A NaN in a router is found where all bytes are looked at, and a guess is no fault.
TEST(Inspect, RoutersAreReadAndGuessesNoted) {
  std::vector<SampleTensor> tensors = sample_model();
  tensors.push_back(noisy("model.layers.0.mlp.gate.weight", "BF16", {1, 32}, 16));
  const Folder folder;
  folder.write("config.json", R"({"model_type":"new_moe"})");
  folder.write("x.safetensors", safetensors(tensors));
  const Outcome noted = run_thresher({"inspect", folder.path(), "--deep"});
  EXPECT_EQ(noted.exit_code, 0) << noted.out;
  EXPECT_TRUE(has(noted.out, "note: config.json: no family is known to have the model_type"))
      << noted.out;
  EXPECT_EQ(noted.out.find("note: "), noted.out.rfind("note: ")) << "of three layers, once";
  tensors.back().bytes.replace(6, 2, "\xc1\x7f");
  folder.write("x.safetensors", safetensors(tensors));
  EXPECT_EQ(run_thresher({"inspect", folder.path()}).exit_code, 0);
  const Outcome deep = run_thresher({"inspect", folder.path(), "--deep", "--json"});
  EXPECT_EQ(deep.exit_code, 1);
  const auto found = nlohmann::json::parse(deep.out);
  EXPECT_TRUE(has(found["layers"][0]["faults"][0], "value 3 of it, byte ")) << deep.out;
  EXPECT_EQ(found["layers"][0]["notes"].size(), 1u);
}

}  // namespace
}  // namespace thresher::cli
