// SPDX-License-Identifier: Apache-2.0
// The order of a tuning, carried out here; on a cluster it is seen in slurm_season.py.
#include "cli/tune_there.hpp"

#include <gtest/gtest.h>

#include "child.hpp"
#include "thresher/thresher.h"

namespace thresher::cli {
namespace {

Problem tiny_problem() { return {.name = "tiny", .groups = {2, {.m = 2, .n = 512, .k = 1024}}}; }

TEST(TuningOrder, SaysWhatContestantsShallNotSee) {
  const TuneRules rules{.backend = "cpu", .thread_count = 1, .hidden = {"/shared/plan.cluster"}};
  EXPECT_EQ(tuning_order(tiny_problem(), rules).at("hidden"),
            nlohmann::json{"/shared/plan.cluster"});
  const MatchOptions match = match_of_tuning(Engine({.thread_count = 1}), rules);
  EXPECT_EQ(match.confinement.hidden.back(), "/shared/plan.cluster");
  EXPECT_GT(match.confinement.hidden.size(), 1U) << "beside what always is";
}

// What the plan has of the class of machines that is asked for is nobody's work: no Slurm is here
// that could be asked, and none is.
TEST(TuneThere, LeavesWhatThePlanHas) {
  const TemporaryFolder folder;
  const std::string path = folder.path("plan.json");
  const PlanFingerprint machine{.backend = "cpu",
                                .device = "AMD EPYC 9654",
                                .machine_class = "AMD EPYC 9654, 96 cores",
                                .thread_count = 8,
                                .version = thresher_version()};
  TunedPlan plan(path);
  plan.keep(machine, PlanEntry{.of = *plan_class(tiny_problem()),
                               .tokens = 4,
                               .variant = "cpu_avx2",
                               .choice = "cpu_avx2"});
  const std::string before = folder.read("plan.json");
  const ClusterOptions cluster{.on = kSlurm, .jobs = 1, .classes = {"epyc"}};
  const TunedThere there = tune_there({tiny_problem()}, {.seconds = 5}, cluster, plan);
  ASSERT_EQ(there.tuned.size(), 1U);
  EXPECT_FALSE(there.tuned[0].is_new);
  EXPECT_EQ(there.tuned[0].machine, machine);
  EXPECT_TRUE(there.failures.empty());
  EXPECT_EQ(folder.read("plan.json"), before);
}

}  // namespace
}  // namespace thresher::cli
