// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "child.hpp"

namespace thresher::cli {
namespace {

std::string simulate(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"referee", "simulate"});
  const Outcome outcome = run_here(std::move(arguments));
  EXPECT_EQ(outcome.exit_code, kExitOk) << outcome.err;
  return outcome.out;
}

TEST(RefereeSimulate, PrintsEveryWorldDesignAndChallengerAsATable) {
  setenv("COLUMNS", "140", 1);  // so that no name is in two lines
  const std::string out = simulate({"--trials", "2"});
  unsetenv("COLUMNS");
  for (const char* text :
       {"quiet", "+ drift", "+ slot order", "+ process luck", "A x30, B x30, Welch",
        "ABBA x3, 5 processes", "5 to 15 heats", "+4/+4/+4/-4 %", "20 % slower", "GSPRT"}) {
    EXPECT_NE(out.find(text), std::string::npos) << text << " in\n" << out;
  }
}

TEST(RefereeSimulate, PrintsTheSameAsJson) {
  const nlohmann::json found =
      nlohmann::json::parse(simulate({"--trials", "5", "--seed", "3", "--json"}));
  EXPECT_EQ(found["trials"], 5);
  EXPECT_EQ(found["seed"], 3);
  EXPECT_EQ(found["designs"].size(), 20u);
  EXPECT_EQ(found["contract"].size(), 27u);
  EXPECT_EQ(found["noise"].size(), 10u);
  for (const nlohmann::json& row : found["contract"]) {
    const nlohmann::json& verdicts = row["verdicts"];
    EXPECT_DOUBLE_EQ(verdicts["accepted"].get<double>() + verdicts["rejected"].get<double>() +
                         verdicts["unclear"].get<double>(),
                     1);
    EXPECT_GE(verdicts["heats_mean"], row["heats_min"]);
    EXPECT_LE(verdicts["heats_mean"], row["heats_max"]);
  }
}

TEST(RefereeSimulate, IsTheSeedsAlone) {
  EXPECT_EQ(simulate({"--trials", "3", "--seed", "8", "--json"}),
            simulate({"--trials", "3", "--seed", "8", "--json"}));
  EXPECT_NE(simulate({"--trials", "3", "--seed", "8", "--json"}),
            simulate({"--trials", "3", "--seed", "9", "--json"}));
}

TEST(RefereeSimulate, RefusesNoTrials) {
  EXPECT_EQ(run_here({"referee", "simulate", "--trials", "0"}).exit_code, kExitUsage);
}

}  // namespace
}  // namespace thresher::cli
