// SPDX-License-Identifier: Apache-2.0
// Problems that no machine holds: every command says so at once, and lives.
#include <gtest/gtest.h>

#include <chrono>

#include "child.hpp"

namespace thresher::cli {
namespace {

// Eighteen TiB of weights, every extent within the limits of a suite.
constexpr const char* kHuge = R"(
name = "huge"
[[problem]]
name = "fits"
m = 1
n = 64
k = 64
[[problem]]
name = "monster"
groups = 32
m = 1
n = 16777216
k = 65536
)";

TEST(MemoryCheck, ComesBeforeAnythingIsAllocated) {
  const TemporaryFolder folder;
  const std::string suite = folder.write("huge.toml", kHuge);
  const std::string pitch = folder.write("p.toml", R"(
name = "p"
suite = "huge.toml"
claim = 2
mechanism = "a setting"
[contestant]
knobs = {stages = 8}
)");
  const std::string ledger = folder.path("ledger.db");
  for (const std::string& command :
       {std::string("bench --backend cpu"), std::string("verify --backend cpu"),
        std::string("match --backend cpu --challenger cpu_avx2"),
        std::string("referee selftest --matches 1"),
        "season --backend cpu " + pitch + " --ledger " + ledger,
        "round --backend cpu " + pitch + " --ledger " + ledger,
        "tune --backend cpu --output " + folder.path("plan.json")}) {
    const auto begin = std::chrono::steady_clock::now();
    const Outcome outcome = run_shell("thresher " + command + " --suite " + suite);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(outcome.exit_code, 1) << command << ": " << outcome.err;
    EXPECT_NE(outcome.err.find("thresher: not enough memory for problem 'monster' (gemm, 32 groups "
                               "with 32 rows, n = 16777216, k = 65536): it takes at least "),
              std::string::npos)
        << command << ": " << outcome.err;
    EXPECT_LT(seconds.count(), 10) << command;
  }
  EXPECT_FALSE(std::filesystem::exists(ledger)) << "a season that cannot be is not recorded";
}

TEST(MemoryCheck, CountsOnlyWhatWasChosen) {
  const TemporaryFolder folder;
  const std::string suite = folder.write("huge.toml", kHuge);
  const Outcome outcome = run_thresher(
      {"bench", "--backend", "cpu", "--seconds", "0.01", "--problem", "fits", "--suite", suite});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

}  // namespace
}  // namespace thresher::cli
