// SPDX-License-Identifier: Apache-2.0
// verify --plan and bench --plan, with plans of this machine and of others.
#include "cli/verify_plan.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "child.hpp"
#include "engine/backends.hpp"
#include "thresher/engine.hpp"

namespace thresher::cli {
namespace {

const char* const kTuned = "cpu_portable:stages=8";

Problem tuned_problem() {
  return {
      .name = "p",
      .activations = Activations::kBf16,
      .groups = {
          {.m = 3, .n = 64, .k = 128}, {.m = 0, .n = 64, .k = 128}, {.m = 9, .n = 64, .k = 128}}};
}

PlanEntry entry_of(const Problem& problem, bool better) {
  const Engine engine({.thread_count = 1});
  return {.of = *plan_class(problem),
          .tokens = token_count(problem),
          .measured = measured_of(problem),
          .variant = kTuned,
          .choice = engine.choose(problem),
          .better = better};
}

MachinePlan machine_here(bool better) {
  return {.fingerprint = fingerprint_of(Engine({.thread_count = 1}).state()),
          .entries = {entry_of(tuned_problem(), better)}};
}

class PlanHere : public ::testing::Test {
 protected:
  std::string written(const PlanFile& file) const {
    return folder_.write("plan.json", to_json(file));
  }

  const TemporaryFolder folder_;
};

TEST_F(PlanHere, IsVerifiedOnItsOwnClasses) {
  MachinePlan foreign = machine_here(true);
  foreign.fingerprint.device = "abacus";
  foreign.entries[0].variant = "beads:wings=2";
  MachinePlan own = machine_here(true);
  own.entries.push_back(own.entries[0]);
  own.entries[1].choice = "cpu_portable:stages=4";
  own.entries[1].tokens = 12;
  const std::string plan = written({{foreign, own}});
  const Outcome outcome = run_thresher({"verify", "--plan", plan, "--problem",
                                        "gemm_bf16_g3_n64_k128_t12", "--threads", "2", "--json"});
  ASSERT_EQ(outcome.exit_code, kExitOk) << outcome.err;
  EXPECT_NE(outcome.err.find("machine 0 is left out: it is of device abacus"), std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("machine 1: entry 1 is left out: it was compared with"),
            std::string::npos)
      << outcome.err;
  const auto report = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(report.at("variants").size(), 1U);
  EXPECT_EQ(report["variants"][0].at("variant"), kTuned);
  EXPECT_EQ(report["variants"][0].at("problems"), 1);
  EXPECT_GT(report.at("checks"), 0);
  EXPECT_EQ(report.at("failed"), 0);
}

TEST_F(PlanHere, HasProblemsOfTwoGroups) {
  const Engine engine({.thread_count = 4});
  const PlanToVerify found = plan_to_verify({{machine_here(true)}}, engine.state());
  ASSERT_EQ(found.problems.size(), 1U);
  EXPECT_EQ(found.problems[0].groups,
            (std::vector<Group>{{.m = 9, .n = 64, .k = 128}, {.m = 0, .n = 64, .k = 128}}));
  EXPECT_EQ(found.problems[0].activations, Activations::kBf16);
  EXPECT_EQ(found.variants, std::vector<std::string>{kTuned});
  EXPECT_TRUE(found.left_out.empty());
}

TEST_F(PlanHere, ThatChangesNothingIsNoFault) {
  MachinePlan foreign = machine_here(true);
  foreign.fingerprint.backend = "loom";
  for (const MachinePlan& plan : {machine_here(false), foreign}) {
    const Outcome outcome = run_thresher({"verify", "--plan", written({{plan}})});
    EXPECT_EQ(outcome.exit_code, kExitOk) << outcome.err;
    EXPECT_NE(outcome.err.find("nothing in it is better than the engine's choice here"),
              std::string::npos)
        << outcome.err;
  }
  EXPECT_EQ(backend_of_plan({{foreign}}), nullptr);
  EXPECT_EQ(backend_of_plan({{foreign, machine_here(false)}})->name, "cpu");
}

TEST_F(PlanHere, IsWhatDoctorSpeaksOf) {
  MachinePlan own = machine_here(true);
  own.entries.push_back(own.entries[0]);
  own.entries[1].choice = "cpu_portable:stages=4";
  const std::string plan = written({{own}});
  const auto said = [&](const std::string& threads) -> std::string {
    const Outcome outcome = run_thresher({"doctor", "--plan", plan, "--backend", "cpu", "--threads",
                                          threads, "--seconds", "0.05", "--json"});
    EXPECT_EQ(outcome.exit_code, kExitOk) << outcome.err;
    return nlohmann::json::parse(outcome.out).at("plan");
  };
  const std::string used = said("1");
  EXPECT_NE(used.find("is used: 1 entries, 1 better"), std::string::npos) << used;
  EXPECT_NE(used.find("it was compared with"), std::string::npos) << used;
  const std::string foreign = said("2");
  EXPECT_NE(foreign.find("is not used: it is of thread count 1, and this is 2"), std::string::npos)
      << foreign;
  folder_.write("plan.json", "{}");
  const Outcome hostile = run_thresher({"doctor", "--plan", plan});
  EXPECT_EQ(hostile.exit_code, kExitFailure);
  EXPECT_NE(hostile.err.find("the file has no 'thresher_plan'"), std::string::npos) << hostile.err;
}

constexpr const char* kPlanSuite = R"(
name = "tiny"
[[problem]]
name = "of_the_plan"
activations = "bf16"
m = [3, 0, 9]
n = 64
k = 128
[[problem]]
name = "another"
m = 4
n = 32
k = 64
)";

TEST_F(PlanHere, IsWhatBenchMeasures) {
  const std::string suite = folder_.write("tiny.toml", kPlanSuite);
  const std::string plan = written({{machine_here(true)}});
  const std::vector<std::string> command{"bench", "--suite",   suite, "--plan",
                                         plan,    "--threads", "1",   "--seconds",
                                         "0.02",  "--backend", "cpu", "--json"};
  const Outcome outcome = run_thresher(command);
  ASSERT_EQ(outcome.exit_code, kExitOk) << outcome.err;
  EXPECT_NE(outcome.err.find("is used: 1 entries, 1 better"), std::string::npos) << outcome.err;
  std::istringstream lines(outcome.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(nlohmann::json::parse(line).at("variant"), kTuned);
  std::getline(lines, line);
  EXPECT_NE(nlohmann::json::parse(line).at("variant"), kTuned) << "no entry is of its class";

  MachinePlan foreign = machine_here(true);
  foreign.fingerprint.thread_count = 77;
  written({{foreign}});
  const Outcome unused = run_thresher(command);
  ASSERT_EQ(unused.exit_code, kExitOk) << unused.err;
  EXPECT_NE(unused.err.find("is not used: it is of thread count 77, and this is 1"),
            std::string::npos)
      << unused.err;
  EXPECT_EQ(unused.out.find(kTuned), std::string::npos) << unused.out;
}

}  // namespace
}  // namespace thresher::cli
