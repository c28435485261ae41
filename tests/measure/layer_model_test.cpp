// SPDX-License-Identifier: Apache-2.0
#include "measure/layer_model.hpp"

#include <gtest/gtest.h>

namespace thresher::measure {
namespace {

TEST(LayerProblems, AreGateAndUpThenDownWithTheRowsOfARouter) {
  const std::vector<Problem> problems =
      layer_problems(layer_model_from_text("mixtral-8x7b"), Activations::kBf16, 64);
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_EQ(problems[0].name, "mixtral-8x7b_gate_up_t64");
  EXPECT_EQ(problems[0].op, Op::kDual);
  const Group& busiest = problems[0].groups[0];
  EXPECT_EQ(busiest, (Group{.m = busiest.m, .n = 14336, .k = 4096}));
  EXPECT_EQ(problems[1].name, "mixtral-8x7b_down_t64");
  EXPECT_EQ(problems[1].op, Op::kGemm);
  const Group& idlest = problems[1].groups[7];
  EXPECT_EQ(idlest, (Group{.m = idlest.m, .n = 4096, .k = 14336}));
  EXPECT_GT(busiest.m, 16) << "experts have more and less than their share";
  EXPECT_LT(idlest.m, 16);
  for (const Problem& problem : problems) {
    EXPECT_EQ(problem.activations, Activations::kBf16);
    EXPECT_EQ(token_count(problem), 128);
    check(problem);
  }
}

TEST(LayerProblems, AreOneProductAtATimeWhereMoreStandsBetween) {
  const LayerModel model = layer_model_from_text("gpt-oss-120b");
  EXPECT_EQ(layer_problems(model, Activations::kNvfp4, 1)[0].op, Op::kGemm);
}

TEST(LayerModel, IsNamedOrWrittenAsItsExtents) {
  EXPECT_EQ(layer_model_from_text("mixtral-8x7b").expert_count, 8);
  EXPECT_EQ(layer_model_from_text("64x32x6x2").top_k, 2);
  EXPECT_EQ(layer_model_from_text("64x32x6x2").expert_bytes(), 3 * 64 * 32 * 0.5625);
  EXPECT_THROW(layer_model_from_text("64x32x6x7"), Error);
}

}  // namespace
}  // namespace thresher::measure
