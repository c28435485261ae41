// SPDX-License-Identifier: Apache-2.0
#include "cli/tune_simulate.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "child.hpp"

namespace thresher::cli {
namespace {

constexpr const char* kRecorded = THRESHER_SOURCE_DIR "/tests/fuzz/plan_examples/space.json";

TEST(TuneSimulate, PrintsWhatSearchAndChanceFind) {
  const Outcome table = run_here({"tune", "--simulate", kRecorded, "--budget-share", "1"});
  EXPECT_EQ(table.exit_code, kExitOk) << table.err;
  EXPECT_NE(table.out.find("100 runs"), std::string::npos);
  EXPECT_NE(table.out.find("1.0000"), std::string::npos) << table.out;

  const Outcome printed =
      run_here({"tune", "--simulate", kRecorded, "--budget-share", "0.3", "--runs", "4", "--json"});
  const auto space = nlohmann::json::parse(printed.out).at("spaces").at(0);
  EXPECT_EQ(space.at("space"), "space");
  EXPECT_EQ(space.at("size"), 12);
  EXPECT_EQ(space.at("correct"), 11);
  EXPECT_EQ(space.at("budget"), 3);
  for (const char* strategy : {"search", "random"}) {
    EXPECT_EQ(space.at(strategy).at("shares").size(), 4U);
    EXPECT_EQ(space.at(strategy).at("median_so_far").size(), 3U);
    EXPECT_LE(space.at(strategy).at("worst_tenth"), space.at(strategy).at("median"));
  }
}

TEST(TuneSimulate, SaysWhatIsWrongWithAFile) {
  const TemporaryFolder folder;
  const Outcome outcome =
      run_here({"tune", "--simulate", folder.write("bad.json", R"({"results": [1]})")});
  EXPECT_EQ(outcome.exit_code, kExitFailure);
  EXPECT_NE(outcome.err.find("bad.json: result 0: has no 'configuration'"), std::string::npos)
      << outcome.err;
}

}  // namespace
}  // namespace thresher::cli
