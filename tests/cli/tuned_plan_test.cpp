// SPDX-License-Identifier: Apache-2.0
#include "cli/tuned_plan.hpp"

#include <gtest/gtest.h>

#include "child.hpp"
#include "thresher/error.hpp"

namespace thresher::cli {
namespace {

const PlanFingerprint kHere{.backend = "cpu", .device = "x", .version = "1"};
const PlanFingerprint kThere{.backend = "gpu", .device = "y", .version = "1"};

Problem problem_with(std::int64_t tokens) {
  return {.name = "p", .groups = {{.m = tokens, .n = 64, .k = 128}}};
}

PlanEntry found_for(const Problem& problem, const std::string& reason = "found") {
  return {.of = *plan_class(problem),
          .tokens = token_count(problem),
          .variant = "v",
          .choice = "c",
          .reason = reason};
}

PlanSearch begun_for(const Problem& problem) {
  return {.of = *plan_class(problem),
          .tokens = token_count(problem),
          .seconds = 1,
          .trials = {{"v", 1.1}}};
}

class TunedPlanFile : public ::testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string path_ = folder_.path("plan.json");
};

TEST_F(TunedPlanFile, AnEntryEndsItsSearch) {
  TunedPlan plan(path_);
  plan.keep(kHere, begun_for(problem_with(4)));
  plan.keep(kHere, begun_for(problem_with(8)));
  plan.keep(kHere, found_for(problem_with(4)));
  const TunedPlan later(path_);
  EXPECT_NE(later.entry(kHere, problem_with(4)), nullptr);
  EXPECT_EQ(later.search(kHere, problem_with(4)), nullptr);
  EXPECT_EQ(later.entry(kHere, problem_with(8)), nullptr);
  EXPECT_NE(later.search(kHere, problem_with(8)), nullptr);
  EXPECT_EQ(later.entry(kThere, problem_with(4)), nullptr);
}

// Two machines that share a folder, or two tunings of other problems, write the same file.
TEST_F(TunedPlanFile, KeepsWhatOthersPutThereMeanwhile) {
  TunedPlan plan(path_);
  TunedPlan other(path_);
  plan.keep(kHere, begun_for(problem_with(4)));
  other.keep(kThere, found_for(problem_with(4)));
  other.keep(kHere, found_for(problem_with(8)));
  plan.keep(kHere, found_for(problem_with(4)));
  for (const TunedPlan& one : {TunedPlan(path_), plan}) {
    EXPECT_NE(one.entry(kHere, problem_with(4)), nullptr);
    EXPECT_NE(one.entry(kHere, problem_with(8)), nullptr);
    EXPECT_NE(one.entry(kThere, problem_with(4)), nullptr);
    EXPECT_EQ(one.search(kHere, problem_with(4)), nullptr);
  }
}

TEST_F(TunedPlanFile, WhatIsForgottenStandsThereUntilSomethingTakesItsPlace) {
  TunedPlan first(path_);
  first.keep(kHere, found_for(problem_with(4), "before"));
  first.keep(kHere, found_for(problem_with(8), "before"));
  TunedPlan plan(path_);
  plan.forget(kHere, problem_with(4));
  EXPECT_EQ(plan.entry(kHere, problem_with(4)), nullptr);
  EXPECT_NE(TunedPlan(path_).entry(kHere, problem_with(4)), nullptr) << "nothing was kept yet";
  plan.keep(kHere, begun_for(problem_with(4)));
  EXPECT_NE(plan.search(kHere, problem_with(4)), nullptr);
  EXPECT_EQ(TunedPlan(path_).entry(kHere, problem_with(4)), nullptr);
  plan.keep(kHere, found_for(problem_with(4), "again"));
  EXPECT_EQ(TunedPlan(path_).entry(kHere, problem_with(4))->reason, "again");
  EXPECT_EQ(TunedPlan(path_).entry(kHere, problem_with(8))->reason, "before");
}

TEST_F(TunedPlanFile, IsRefusedWhereItCannotBe) {
  EXPECT_THROW(TunedPlan(folder_.path("missing/plan.json")), Error);
  EXPECT_THROW(TunedPlan(folder_.path(".")), Error);
  EXPECT_THROW(TunedPlan(folder_.write("plan.json", "{}")), Error);
  EXPECT_EQ(folder_.read("plan.json"), "{}");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path("")), {}), 1)
      << "nothing else is left there";
}

}  // namespace
}  // namespace thresher::cli
