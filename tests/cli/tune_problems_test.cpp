// SPDX-License-Identifier: Apache-2.0
#include "cli/tune_problems.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "checkpoint/sample.hpp"
#include "child.hpp"

namespace thresher::cli {
namespace {

std::vector<std::string> tuned_names(const TuneSelection& selection) {
  std::vector<std::string> names;
  for (const Problem& problem : problems_to_tune(selection)) names.push_back(problem.name);
  return names;
}

std::string tune_fault(const TuneSelection& selection) {
  try {
    problems_to_tune(selection);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(TuneProblems, OfModelsAreTwoPerTokens) {
  EXPECT_EQ(tuned_names({.models = {"mixtral-8x7b", "2048x512x16x2"}, .tokens = {1, 16, 1}}),
            (std::vector<std::string>{"mixtral-8x7b_gate_up_t1", "mixtral-8x7b_down_t1",
                                      "mixtral-8x7b_gate_up_t16", "mixtral-8x7b_down_t16",
                                      "2048x512x16x2_gate_up_t1", "2048x512x16x2_down_t1",
                                      "2048x512x16x2_gate_up_t16", "2048x512x16x2_down_t16"}));
  EXPECT_EQ(tuned_names({.models = {"mixtral-8x7b"}}).size(), 8U) << "four numbers of tokens";
  const std::vector<Problem> fp16 =
      problems_to_tune({.models = {"mixtral-8x7b"}, .tokens = {4}, .activations = "fp16"});
  EXPECT_EQ(fp16[0].activations, Activations::kFp16);
}

TEST(TuneProblems, OfModelsHaveNamesToChooseBy) {
  EXPECT_EQ(
      tuned_names(
          {.problems = {"mixtral-8x7b_down_t16"}, .models = {"mixtral-8x7b"}, .tokens = {1, 16}}),
      std::vector<std::string>{"mixtral-8x7b_down_t16"});
}

TEST(TuneProblems, OfASuiteAreOncePerClass) {
  const std::size_t all = problems_to_tune({.suites = {"seeds"}}).size();
  EXPECT_GT(all, 1U);
  EXPECT_EQ(problems_to_tune({.suites = {"seeds", "seeds"}}).size(), all);
}

TEST(TuneProblems, OfACheckpointAreItsKindsOfLayers) {
  std::vector<checkpoint::SampleTensor> tensors;
  for (const char* layer : {"0", "1"}) {
    const std::string expert = fmt::format("model.layers.{}.mlp.experts.0.", layer);
    checkpoint::add_matrix(tensors, true, expert + "gate_proj", 48, 32, 0.25f, 0);
    checkpoint::add_matrix(tensors, true, expert + "up_proj", 48, 32, 0.5f, 0);
    checkpoint::add_matrix(tensors, true, expert + "down_proj", 32, 48, 0.5f, 0);
  }
  const checkpoint::Folder folder;
  folder.write("model.safetensors", checkpoint::safetensors(tensors));
  const TuneSelection selection{.checkpoint = folder.path(), .tokens = {3}};
  EXPECT_NE(tune_fault(selection).find("--model 32x48x1xTOP_K"), std::string::npos)
      << tune_fault(selection);
  folder.write("config.json", R"({"model_type":"qwen3_moe","num_experts_per_tok":1})");
  const std::vector<Problem> problems = problems_to_tune(selection);
  ASSERT_EQ(problems.size(), 2U) << "layers that are alike count once";
  EXPECT_EQ(problems[0].name, "qwen3_moe_layer0_gate_up_t3");
  EXPECT_EQ(problems[0].groups, (std::vector<Group>{{.m = 3, .n = 48, .k = 32}}));
  EXPECT_EQ(problems[1].groups, (std::vector<Group>{{.m = 3, .n = 32, .k = 48}}));
}

TEST(TuneProblems, SayWhatIsMissing) {
  EXPECT_EQ(tune_fault({}), "say what to tune: --suite, --model, or --checkpoint");
  EXPECT_EQ(tune_fault({.suites = {"seeds"}, .models = {"mixtral-8x7b"}}),
            "say what to tune: --suite, --model, or --checkpoint");
  EXPECT_EQ(tune_fault(
                {.problems = {"mixtral-8x7b_down_t1"}, .models = {"mixtral-8x7b"}, .tokens = {16}}),
            "no product of these layers is called 'mixtral-8x7b_down_t1'; there are "
            "mixtral-8x7b_gate_up_t16, mixtral-8x7b_down_t16; did you mean "
            "'mixtral-8x7b_down_t16'?");
  EXPECT_NE(tune_fault({.models = {"gpt-5"}}).find("there are qwen3.6-35b-a3b"), std::string::npos);
  const TemporaryFolder empty;
  EXPECT_NE(tune_fault({.checkpoint = empty.path("")}), "no error");
}

}  // namespace
}  // namespace thresher::cli
