// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "checkpoint/sample.hpp"
#include "child.hpp"

namespace thresher::cli {
namespace {

TEST(QuantizeCommand, MakesWhatInspectCallsNvfp4) {
  const checkpoint::Folder folder;
  std::vector<checkpoint::SampleTensor> tensors;
  for (const char* name : {"gate_proj", "up_proj"}) {
    tensors.push_back({"model.layers.0.mlp.experts.0." + std::string(name) + ".weight",
                       "F32",
                       {16, 32},
                       std::string(16 * 32 * 4, '8')});
  }
  tensors.push_back(
      {"model.layers.0.mlp.experts.0.down_proj.weight", "F32", {32, 16}, std::string(2048, '8')});
  const std::string from = folder.write("x.safetensors", checkpoint::safetensors(tensors));
  for (const char* format : {"compressed-tensors", "modelopt"}) {
    const std::string to = folder.path() / format;
    const Outcome made = run_thresher({"quantize", from, to, "--format", format, "--json"});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    const auto report = nlohmann::json::parse(made.out);
    EXPECT_EQ(report["matrices"], 3);
    EXPECT_EQ(report["elements"], 3 * 512);
    const Outcome inspected = run_thresher({"inspect", to, "--json"});
    const auto found = nlohmann::json::parse(inspected.out);
    EXPECT_EQ(found["layers"][0]["format"], format);
    EXPECT_EQ(found["layers"][0]["runs_as"], nlohmann::json{"W4A16"});
    const Outcome again = run_thresher({"quantize", from, to, "--format", format});
    EXPECT_EQ(again.exit_code, 1);
    EXPECT_NE(again.err.find("is there already"), std::string::npos) << again.err;
  }
  const Outcome misspelt = run_thresher({"quantize", from, "y", "--format", "model-opt"});
  EXPECT_EQ(misspelt.exit_code, 2);
  EXPECT_NE(misspelt.err.find("did you mean 'modelopt'?"), std::string::npos) << misspelt.err;
}

}  // namespace
}  // namespace thresher::cli
