// SPDX-License-Identifier: Apache-2.0
// The verify command on small suites of its own.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "child.hpp"
#include "cli/verify_report.hpp"

namespace thresher::cli {
namespace {

constexpr const char* kSuite = R"(
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
  const std::string suite = folder.write("mini.toml", kSuite);
  const Outcome outcome =
      run_thresher({"verify", "--suite", suite, "--variant", "cpu_portable", "--variant",
                    "cpu_portable:roles=split", "--threads", "1", "--threads", "3", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err << outcome.out;
  const nlohmann::json report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["ok"], true);
  EXPECT_EQ(report["failed"], 0);
  ASSERT_EQ(report["variants"].size(), 2u);
  EXPECT_EQ(report["variants"][0]["problems"], 2);
  EXPECT_EQ(report["variants"][0]["checks"], 2 * 3 * 2);
  EXPECT_EQ(report["variants"][0]["skipped"], 0);
  // What a variant cannot run is skipped, with the reason, and not passed.
  EXPECT_EQ(report["variants"][1]["checks"], 0);
  EXPECT_EQ(report["variants"][1]["skipped"], 2 * 3 * 2);
  EXPECT_EQ(report["variants"][1]["skip_reasons"].size(), 1u);
}

TEST(Verify, NarrowsDownToOneCase) {
  const TemporaryFolder folder;
  const std::string suite = folder.write("mini.toml", kSuite);
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
  const Failure failure{.suite = "mini",
                        .suite_argument = folder.write("it's mini.toml", kSuite),
                        .problem = "gemm",
                        .family = "natural",
                        .seed = 17,
                        .runner = {"cpu_portable:decode=direct", 2},
                        .finding = {.ok = false, .what = "", .twin = Runner{"cpu_portable", 1}}};
  const Outcome outcome = run_shell(repeat_command(failure) + " --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["seed"], 17);
  EXPECT_EQ(report["checks"], 4);
  ASSERT_EQ(report["variants"].size(), 2u);
  EXPECT_EQ(report["variants"][0]["variant"], "cpu_portable");
  EXPECT_EQ(report["variants"][1]["variant"], "cpu_portable:decode=direct");
}

TEST(Verify, NothingVerifiedIsNotSuccess) {
  const TemporaryFolder folder;
  const std::string suite = folder.write("mini.toml", kSuite);
  const Outcome outcome = run_thresher(
      {"verify", "--suite", suite, "--problem", "gemm", "--variant", "cpu_portable:roles=split"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("nothing was verified"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace thresher::cli
