// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "checkpoint/sample.hpp"
#include "child.hpp"
#include "tank/forecast/forecasts.hpp"

namespace thresher::cli {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ForecastCommand, WritesTheChainThatShips) {
  const checkpoint::Folder folder;
  const std::string to = folder.path() / "forecasts.jsonl";
  const Outcome made = run_thresher({"forecast", "-o", to});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_NE(made.out.find("predicted and not measured"), std::string::npos) << made.out;
  EXPECT_NE(made.out.find("by nobody"), std::string::npos) << made.out;
  EXPECT_EQ(text_of(to), text_of(THRESHER_SOURCE_DIR "/results/b200/forecasts.jsonl"));
  EXPECT_EQ(run_thresher({"forecast", "--json"}).out, text_of(to));
  EXPECT_EQ(run_thresher({"forecast", "-o", "/proc/x.jsonl"}).exit_code, 1);
}

TEST(ForecastCommand, TheScoreboardShowsThoseOfItsSuiteAsPredicted) {
  const checkpoint::Folder folder;
  const std::string path = folder.path() / "ledger.db";
  {
    Ledger ledger(path);
    ledger.append("spring", "season", "measured", {{"suite", "seeds"}, {"backend", "gpu"}});
    append_forecasts(ledger, "spring", shipped_forecasts());
  }
  const std::string text = run_thresher({"scoreboard", "--ledger", path}).out;
  EXPECT_NE(text.find("predicted and not measured"), std::string::npos) << text;
  EXPECT_NE(text.find("g2_n4096_k1536"), std::string::npos) << text;
  EXPECT_EQ(text.find("g32_m4_n4096_k7168"), std::string::npos) << "of suite decode\n" << text;
  EXPECT_NE(text.find("forecasts more are of other suites"), std::string::npos) << text;
  const auto board =
      nlohmann::json::parse(run_thresher({"scoreboard", "--ledger", path, "--json"}).out);
  EXPECT_TRUE(board.at("rows").empty());
  EXPECT_EQ(board.at("forecasts").at("source"), "predicted");
  for (const auto& one : board.at("forecasts").at("forecasts")) {
    EXPECT_TRUE(one.at("measured").is_null() && one.at("score").is_null());
  }
}

}  // namespace
}  // namespace thresher::cli
