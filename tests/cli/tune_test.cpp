// SPDX-License-Identifier: Apache-2.0
// The command on a problem so small that a second is enough, whatever it finds.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "child.hpp"
#include "engine/plan_file.hpp"
#include "thresher/engine.hpp"

namespace thresher::cli {
namespace {

constexpr const char* kTuneSuite = R"(
name = "tiny"
[[problem]]
name = "even"
m = [4, 4]
n = 1024
k = 2048
[[problem]]
name = "uneven"
m = [4, 4]
n = [64, 32]
k = 128
)";

class Tune : public ::testing::Test {
 protected:
  Outcome tune(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"tune", "--backend", "cpu", "--suite", suite_, "--problem",
                                         "even", "--threads", "1", "--output", plan_});
    return run_thresher(arguments);
  }

  const TemporaryFolder folder_;
  const std::string suite_ = folder_.write("tiny.toml", kTuneSuite);
  const std::string plan_ = folder_.path("plan.json");
};

TEST_F(Tune, WritesAPlanThatTheEngineTakesAndItGoesOnFrom) {
  const Outcome outcome = tune({"--budget", "1s", "--tokens", "3", "--json"});
  ASSERT_EQ(outcome.exit_code, kExitOk) << outcome.err;
  const auto report = nlohmann::json::parse(outcome.out).at("problems");
  ASSERT_EQ(report.size(), 1U);
  EXPECT_EQ(report[0].at("problem"), "even_t3");
  EXPECT_GT(report[0].at("space"), 500);
  EXPECT_GT(report[0].at("tried"), 0);
  EXPECT_FALSE(report[0].at("reason").get<std::string>().empty());
  const PlanFile file = read_plan_file(plan_);
  ASSERT_EQ(file.machines.size(), 1U);
  ASSERT_EQ(file.machines[0].entries.size(), 1U);
  EXPECT_EQ(file.machines[0].entries[0].tokens, 3);
  EXPECT_FALSE(file.machines[0].entries[0].story.value().trace.empty());
  const Engine engine({.thread_count = 1, .plan_file = plan_});
  EXPECT_NE(engine.plan_note().find("is used"), std::string::npos) << engine.plan_note();

  const std::string before = folder_.read("plan.json");
  const Outcome again = tune({"--budget", "1s", "--tokens", "3"});
  EXPECT_EQ(again.exit_code, kExitOk) << again.err;
  EXPECT_NE(again.out.find("before"), std::string::npos) << again.out;
  EXPECT_NE(again.err.find("has all of it already; --again"), std::string::npos) << again.err;
  EXPECT_EQ(folder_.read("plan.json"), before);
}

// What a search has tried is kept when it is interrupted, and the time it took counts.
TEST_F(Tune, GoesOnFromWhereItWasInterrupted) {
  const std::string command = fmt::format(
      "thresher tune --backend cpu --suite {0} --problem even --threads 1 --output {1} --budget "
      "60s "
      "& pid=$!; until grep -q unfinished {1} 2>/dev/null; do sleep 0.05; done; kill -TERM $pid; "
      "wait $pid",
      shell_quoted(suite_), shell_quoted(plan_));
  const Outcome interrupted = run_shell(command);
  EXPECT_EQ(interrupted.exit_code, 128 + 15);
  EXPECT_NE(interrupted.err.find("what was found so far stands in"), std::string::npos)
      << interrupted.err;
  EXPECT_NE(interrupted.err.find("even: "), std::string::npos) << interrupted.err;
  const MachinePlan before = read_plan_file(plan_).machines.at(0);
  EXPECT_TRUE(before.entries.empty());
  ASSERT_EQ(before.unfinished.size(), 1U);
  EXPECT_GT(before.unfinished[0].trials.size(), 5U);
  EXPECT_GE(before.unfinished[0].seconds, 1);

  const Outcome later = tune({"--budget", "2s", "--json"});
  ASSERT_EQ(later.exit_code, kExitOk) << later.err;
  EXPECT_NE(later.err.find("goes on after"), std::string::npos) << later.err;
  const auto report = nlohmann::json::parse(later.out).at("problems").at(0);
  EXPECT_GT(report.at("tried"), before.unfinished[0].trials.size());
  const MachinePlan after = read_plan_file(plan_).machines.at(0);
  EXPECT_EQ(after.entries.size(), 1U);
  EXPECT_TRUE(after.unfinished.empty());
}

TEST_F(Tune, FindsNothingAmongVariantsThatAreOneAndKeepsNothing) {
  const Outcome sham = run_thresher({"tune", "--backend", "cpu", "--suite", suite_, "--problem",
                                     "even", "--threads", "1", "--budget", "1s", "--sham"});
  EXPECT_EQ(sham.exit_code, kExitOk) << sham.err;
  EXPECT_NE(sham.out.find("0 of 1 problems have a better variant, and none can have one"),
            std::string::npos)
      << sham.out;
  EXPECT_EQ(tune({"--sham"}).exit_code, kExitUsage) << "it has an --output";
}

TEST_F(Tune, SaysWhatItCannotDo) {
  EXPECT_NE(run_here({"tune", "--suite", suite_}).err.find("say where the plan goes"),
            std::string::npos);
  EXPECT_NE(tune({"--budget", "soon"}).err.find("'soon' is not a time"), std::string::npos);
  const Outcome uneven =
      run_thresher({"tune", "--backend", "cpu", "--suite", suite_, "--output", plan_});
  EXPECT_EQ(uneven.exit_code, kExitUsage);
  EXPECT_NE(uneven.err.find("'uneven': its groups differ"), std::string::npos) << uneven.err;
  EXPECT_NE(tune({"--gres", "gpu:1"}).err.find("are for --on slurm"), std::string::npos);
  EXPECT_NE(tune({"--on", "slurm", "--sweep", "x.json"}).err.find("leave --on out"),
            std::string::npos);
}

// Before anything is measured.
TEST_F(Tune, SaysAtOnceThatItCannotWrite) {
  const Outcome outcome = run_thresher({"tune", "--backend", "cpu", "--suite", suite_, "--problem",
                                        "even", "--output", folder_.path("missing/plan.json")});
  EXPECT_EQ(outcome.exit_code, kExitFailure);
  EXPECT_NE(outcome.err.find("missing/plan.json: No such file or directory"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(outcome.err.find("to tune"), std::string::npos) << outcome.err;
}

// An engine that nobody tells how many threads it shall have would leave the plan unused.
TEST_F(Tune, SaysForHowManyThreadsAPlanIs) {
  const int threads = Engine({.device = "cpu"}).thread_count() + 1;
  const Engine engine({.device = "cpu", .thread_count = threads});
  const Problem even{.name = "even", .groups = {2, {.m = 4, .n = 1024, .k = 2048}}};
  write_plan_file(plan_, {{{.fingerprint = fingerprint_of(engine.state()),
                            .entries = {{.of = *plan_class(even),
                                         .tokens = 8,
                                         .measured = measured_of(even),
                                         .variant = "cpu_portable:stages=8",
                                         .choice = engine.choose(even),
                                         .better = true}}}}});
  const Outcome outcome =
      run_thresher({"tune", "--backend", "cpu", "--suite", suite_, "--problem", "even", "--threads",
                    std::to_string(threads), "--output", plan_});
  ASSERT_EQ(outcome.exit_code, kExitOk) << outcome.err;
  EXPECT_NE(outcome.out.find(fmt::format("It is for {} threads: thresher bench --plan {} --threads",
                                         threads, plan_)),
            std::string::npos)
      << outcome.out;
}

// Little enough to time all of it.
std::string constraints_that_leave_little() {
  std::string text;
  for (const char* knob : {"decode = \"!= by_rows\"", "tile = \"!= 16x16\"", "chunk = \"!= 2048\"",
                           "stages = \"!= 32\"", "schedule = \"!= together\""}) {
    text += fmt::format(
        "[[constraint]]\nid = \"keeps_{}\"\nkind = \"rule\"\nclaim = \"It stays.\"\n"
        "backend = \"cpu\"\nknobs = {{{}}}\norigin = \"a test\"\nexpires = \"never\"\n",
        std::string(knob, 4), knob);
  }
  return text;
}

TEST_F(Tune, SweepsWhatConstraintsLeave) {
  const std::string space = folder_.path("space.json");
  const Outcome swept = run_thresher({"tune", "--backend", "cpu", "--suite", suite_, "--problem",
                                      "even", "--threads", "1", "--constraints",
                                      folder_.write("little.toml", constraints_that_leave_little()),
                                      "--sweep", space, "--json"});
  ASSERT_EQ(swept.exit_code, kExitOk) << swept.err;
  const auto report = nlohmann::json::parse(swept.out);
  EXPECT_EQ(report.at("problem"), "even");
  EXPECT_GE(report.at("speedup"), 1);
  const auto results = nlohmann::json::parse(folder_.read("space.json")).at("results");
  EXPECT_EQ(report.at("variants"), results.size());
  EXPECT_EQ(tune({"--sweep", space}).exit_code, kExitUsage) << "it has an --output";
}

// A plan is of several machines: what another one has in it stays.
TEST_F(Tune, AddsToThePlanOfAnotherMachine) {
  folder_.write("plan.json",
                "{\"thresher_plan\": 2, \"machines\": [{\"machine\": {\"backend\": \"gpu\", "
                "\"device\": \"x\", \"threads\": 0, \"version\": \"0\"}, \"entries\": []}]}");
  const Outcome outcome = tune({"--budget", "1s", "--tokens", "3", "--at-random"});
  ASSERT_EQ(outcome.exit_code, kExitOk) << outcome.err;
  const PlanFile file = read_plan_file(plan_);
  ASSERT_EQ(file.machines.size(), 2U);
  EXPECT_EQ(file.machines[0].fingerprint.device, "x");
  ASSERT_EQ(file.machines[1].entries.size(), 1U);
  EXPECT_TRUE(file.machines[1].entries[0].story.value().at_random);
}

}  // namespace
}  // namespace thresher::cli
