// SPDX-License-Identifier: Apache-2.0
#include "moe/ladder.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "engine/plan_file.hpp"
#include "thresher/engine.hpp"

namespace thresher::moe {
namespace {

backend::LayerShape shape_of(std::int64_t experts, std::int64_t tokens_max) {
  return {.hidden = 64,
          .intermediate = 48,
          .expert_count = experts,
          .shared_count = 1,
          .options = {.top_k = 4, .tokens_max = tokens_max}};
}

TEST(Ladder, RowsAsARouterDealsThemOut) {
  const backend::LayerShape shape = shape_of(16, 64);
  for (const std::int64_t tokens : {1, 3, 64}) {
    const Problem typical = with_typical_rows(problems_of(shape).down, shape, tokens);
    ASSERT_EQ(typical.groups.size(), 17u);
    EXPECT_EQ(token_count(typical), tokens * 5);  // the shared expert has a row of every token
    EXPECT_EQ(typical.groups.back().m, tokens);
  }
  // A token chooses four of sixteen; of 64 tokens nobody gets exactly his share.
  EXPECT_EQ(with_typical_rows(problems_of(shape).down, shape, 1).groups[4].m, 0);
  const Problem many = with_typical_rows(problems_of(shape).down, shape, 64);
  EXPECT_GT(many.groups[0].m, 19);
  EXPECT_LT(many.groups[15].m, 13);
}

TEST(Ladder, RowsOfARankAreItsShare) {
  backend::LayerShape shape = shape_of(16, 64);
  shape.options.router_experts = 64;
  EXPECT_EQ(token_count(with_typical_rows(problems_of(shape).down, shape, 64)), 64 + 64);
  shape.options.top_k = 16;  // everybody gets every token
  shape.options.router_experts = 0;
  EXPECT_EQ(with_typical_rows(problems_of(shape).down, shape, 9).groups[15].m, 9);
}

TEST(Ladder, ProblemsFollowFromWhatStandsBetween) {
  backend::LayerShape shape = shape_of(4, 8);
  shape.options.activations = Activations::kFp16;
  EXPECT_EQ(problems_of(shape).first.op, Op::kDual);
  EXPECT_EQ(problems_of(shape).first.output, Output::kFp16);
  shape.options.activations = Activations::kNvfp4;
  shape.between = backend::Between::kQuantize;
  EXPECT_EQ(problems_of(shape).first.output, Output::kFp32);
  shape.between = backend::Between::kActivate;
  EXPECT_EQ(problems_of(shape).first.op, Op::kGemm);
  EXPECT_EQ(problems_of(shape).first.groups[0], (Group{.m = 0, .n = 48, .k = 64}));
  EXPECT_EQ(problems_of(shape).down.groups[4], (Group{.m = 0, .n = 64, .k = 48}));
}

TEST(Ladder, HasARungForEveryChoiceAndOneForInvariance) {
  const Engine emulator({.device = "emulator"});
  backend::LayerShape shape = shape_of(4, 500);
  const std::vector<Rung> rungs = ladder_of(shape, emulator);
  ASSERT_EQ(rungs.size(), 2u);  // tiles for few tokens, and for many
  EXPECT_LT(rungs[0].tokens_max, 500);
  EXPECT_EQ(rungs[1].tokens_max, 500);
  EXPECT_NE(rungs[0].first, rungs[1].first);
  shape.options.batch_invariant = true;
  ASSERT_EQ(ladder_of(shape, emulator).size(), 1u);
}

TEST(Ladder, TakesWhatAPlanFileSays) {
  const backend::LayerShape shape = shape_of(4, 1);
  const Engine plain({.thread_count = 1});
  const Problem down = with_typical_rows(problems_of(shape).down, shape, 1);
  const std::string tuned = "cpu_portable:stages=8";
  ASSERT_NE(plain.choose(down), tuned);
  const auto path =
      std::filesystem::temp_directory_path() / fmt::format("ladder_{}.json", getpid());
  write_plan_file(path, {{{.fingerprint = fingerprint_of(plain.state()),
                           .entries = {{.of = *plan_class(down),
                                        .tokens = token_count(down),
                                        .variant = tuned,
                                        .choice = plain.choose(down),
                                        .better = true}}}}});
  const std::vector<Rung> rungs = ladder_of(shape, Engine({.thread_count = 1, .plan_file = path}));
  std::filesystem::remove(path);
  ASSERT_EQ(rungs.size(), 1u);
  EXPECT_EQ(rungs[0].down, tuned);
  EXPECT_NE(rungs[0].first, tuned);
}

}  // namespace
}  // namespace thresher::moe
