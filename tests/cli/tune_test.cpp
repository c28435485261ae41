// SPDX-License-Identifier: Apache-2.0
// The command on a problem so small that a second is enough, whatever it finds.
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
  ASSERT_EQ(file.entries.size(), 1U);
  EXPECT_EQ(file.entries[0].tokens, 3);
  const Engine engine({.thread_count = 1, .plan_file = plan_});
  EXPECT_NE(engine.plan_note().find("is used"), std::string::npos) << engine.plan_note();

  const std::string before = folder_.read("plan.json");
  const Outcome again = tune({"--budget", "1s", "--tokens", "3"});
  EXPECT_EQ(again.exit_code, kExitOk) << again.err;
  EXPECT_NE(again.out.find("before"), std::string::npos) << again.out;
  EXPECT_EQ(folder_.read("plan.json"), before);
}

TEST_F(Tune, SaysWhatItCannotDo) {
  EXPECT_NE(tune({"--budget", "soon"}).err.find("'soon' is not a time"), std::string::npos);
  const Outcome uneven =
      run_thresher({"tune", "--backend", "cpu", "--suite", suite_, "--output", plan_});
  EXPECT_EQ(uneven.exit_code, kExitUsage);
  EXPECT_NE(uneven.err.find("'uneven': its groups differ"), std::string::npos) << uneven.err;
  folder_.write("plan.json",
                "{\"thresher_plan\": 1, \"machine\": {\"backend\": \"gpu\", \"device\": "
                "\"x\", \"threads\": 0, \"version\": \"0\"}, \"entries\": []}");
  const Outcome foreign = tune({"--budget", "1s"});
  EXPECT_EQ(foreign.exit_code, kExitUsage);
  EXPECT_NE(foreign.err.find("it is of backend gpu"), std::string::npos) << foreign.err;
}

}  // namespace
}  // namespace thresher::cli
