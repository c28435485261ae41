// SPDX-License-Identifier: Apache-2.0
// The verify command on small suites of its own.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "child.hpp"
#include "cli/verify_report.hpp"
#include "thresher/engine.hpp"

namespace thresher::cli {
namespace {

constexpr const char* kMiniSuite = R"(
name = "mini"
description = "for a test"
[[problem]]
name = "gemm"
m = [3, 0, 9]
n = 20
k = 48
[[problem]]
name = "dual"
op = "dual"
activations = "bf16"
output = "bf16"
m = 5
n = 17
k = 32
)";

TEST(Verify, ChecksEveryVariantFamilyAndThreadCount) {
  const TemporaryFolder folder;
  const std::string suite = folder.write("mini.toml", kMiniSuite);
  const Outcome outcome =
      run_thresher({"verify", "--suite", suite, "--variant", "cpu_portable", "--variant",
                    "cpu_portable:roles=split", "--threads", "1", "--threads", "3", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err << outcome.out;
  const nlohmann::json report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["ok"], true);
  EXPECT_EQ(report["failed"], 0);
  ASSERT_EQ(report["variants"].size(), 2u);
  EXPECT_EQ(report["variants"][0]["problems"], 2);
  EXPECT_EQ(report["variants"][0]["checks"], 2 * (3 * 2 + 1));
  EXPECT_EQ(report["variants"][0]["skipped"], 0);
  // What a variant cannot run is skipped, with the reason, and not passed.
  EXPECT_EQ(report["variants"][1]["checks"], 0);
  EXPECT_EQ(report["variants"][1]["skipped"], 2 * (3 * 2 + 1));
  EXPECT_EQ(report["variants"][1]["skip_reasons"].size(), 1u);
}

TEST(Verify, NarrowsDownToOneCase) {
  const TemporaryFolder folder;
  const std::string suite = folder.write("mini.toml", kMiniSuite);
  const Outcome outcome =
      run_thresher({"verify", "--suite", suite, "--problem", "dual", "--variant", "cpu_portable",
                    "--family", "full", "--seed", "99", "--threads", "2", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["checks"], 1);
  EXPECT_EQ(report["seed"], 99);
}

// A failure cannot be had from an engine that is right, but the command it would print can be run.
TEST(Verify, RepeatCommandRunsTheCaseAndItsTwin) {
  const TemporaryFolder folder;
  const Failure failure{
      .suite = "mini",
      .suite_argument = folder.write("it's mini.toml", kMiniSuite),
      .problem = "gemm",
      .family = "natural",
      .seed = 17,
      .runner = {"cpu_portable:decode=direct", threads_way(2), ""},
      .finding = {.ok = false, .what = "", .twin = Runner{"cpu_portable", threads_way(1), ""}}};
  const Outcome outcome = run_shell(repeat_command(failure) + " --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["seed"], 17);
  EXPECT_EQ(report["checks"], 4);
  ASSERT_EQ(report["variants"].size(), 2u);
  EXPECT_EQ(report["variants"][0]["variant"], "cpu_portable");
  EXPECT_EQ(report["variants"][1]["variant"], "cpu_portable:decode=direct");
}

TEST(Verify, RunsTheKernelsOfTheGpuInTheEmulator) {
  const TemporaryFolder folder;
  const std::string suite = folder.write("mini.toml", kMiniSuite);
  const Outcome outcome = run_thresher(
      {"verify", "--backend", "emulator", "--suite", suite, "--variant", "gpu_sm90", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json report = nlohmann::json::parse(outcome.out);
  // Two problems, three families, two orders of events, and a router's rows.
  EXPECT_EQ(report["checks"], 2 * (3 * 2 + 1));
  EXPECT_EQ(report["variants"][0]["variant"], "gpu_sm90");
}

TEST(Verify, SaysWhyThereIsNoGpu) {
  const std::string why = why_no_device({.device = "gpu"});
  if (why.empty()) GTEST_SKIP() << "this machine has a GPU";
  for (const char* command : {"verify", "bench", "doctor"}) {
    std::vector<std::string> arguments{command, "--backend", "gpu"};
    if (std::string(command) != "doctor") arguments.insert(arguments.end(), {"--suite", "edges"});
    const Outcome outcome = run_thresher(arguments);
    EXPECT_EQ(outcome.exit_code, 1) << command;
    EXPECT_NE(outcome.err.find(why), std::string::npos) << outcome.err;
  }
}

TEST(Verify, NothingVerifiedIsNotSuccess) {
  const TemporaryFolder folder;
  const std::string suite = folder.write("mini.toml", kMiniSuite);
  const Outcome outcome = run_thresher(
      {"verify", "--suite", suite, "--problem", "gemm", "--variant", "cpu_portable:roles=split"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("nothing was verified"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace thresher::cli
