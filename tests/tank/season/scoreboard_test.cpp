// SPDX-License-Identifier: Apache-2.0
#include "tank/season/scoreboard.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tank/fake_season.hpp"
#include "tank/scratch_folder.hpp"
#include "tank/season/time_profile.hpp"

namespace thresher {
namespace {

using namespace testing;

TEST(Scoreboard, TellsWhatASeasonCameTo) {
  ScratchFolder folder;
  Ledger ledger(folder / "ledger.db");
  FakeMachine machine;
  play_season(ledger, fake_setup("s"), fake_tools(machine));
  const Scoreboard board = scoreboard(ledger, "s");
  EXPECT_EQ(board.champion, "cpu_portable:tile=16x16");
  EXPECT_EQ(board.suite, "small");
  EXPECT_TRUE(board.ended);
  EXPECT_FALSE(board.reported);
  ASSERT_EQ(board.rows.size(), ledger.entries("s", "verdict").size());
  bool has_winner = false;
  for (const ScoreboardRow& row : board.rows) {
    EXPECT_TRUE(row.claimed.value) << row.pitch;
    EXPECT_TRUE(row.predicted.value) << row.pitch;
    if (row.verdict != "accepted") continue;
    has_winner = true;
    EXPECT_EQ(row.pitch, "deeper");
    EXPECT_NEAR(*row.measured.value, 1.1, 1e-9);
    EXPECT_NEAR(*row.claimed.value, 1.5, 1e-9);
  }
  EXPECT_TRUE(has_winner);
  EXPECT_EQ(board.credibilities.size(), ledger.entries("s", "round").size());
  EXPECT_EQ(to_ordered_json(board).at("rows").size(), board.rows.size());
}

// Heats that a match can never get decide nothing.
TEST(Scoreboard, APromiseOfMoreHeatsEndsWithTheTitle) {
  ScratchFolder folder;
  Ledger ledger(folder / "ledger.db");
  const auto add = [&](const char* kind, const nlohmann::json& data) {
    ledger.append("s", kind, "measured", data);
  };
  const auto reason_now = [&] { return scoreboard(ledger, "s").rows.at(0).reason; };
  add("season", {{"name", "s"}, {"champion", "a"}});
  add("verdict", {{"round", 1},
                  {"pitch", "p"},
                  {"kind", "unclear"},
                  {"reason", "geomean 1.02x; about 9 more heats would tell"}});
  EXPECT_EQ(reason_now(), "geomean 1.02x; about 9 more heats would tell");
  add("champion", {{"round", 1}, {"champion", "b"}});
  EXPECT_EQ(reason_now(),
            "geomean 1.02x; the title has changed since, and against the new champion it starts "
            "over");
}

TEST(Scoreboard, ReadsReportedSeasonsWithHolesInThem) {
  ScratchFolder folder;
  Ledger ledger(folder / "ledger.db");
  const auto add = [&](const char* kind, const nlohmann::json& data) {
    ledger.append("seeds", kind, "reported", data);
  };
  add("season", {{"name", "seeds"}, {"champion", nullptr}});
  add("pitch", {{"name", "p"}, {"claim", {{"value", nullptr}, {"low", 1.5}, {"high", 1.8}}}});
  add("pitch", {{"name", "q"}, {"claim", nullptr}});
  add("sheet", {{"round", 1},
                {"shark", "two"},
                {"pitch", "p"},
                {"total_on_sheet", 8.05},
                {"total_recomputed", 7.85},
                {"wrong", true}});
  add("sheet", {{"round", 1}, {"shark", "two"}, {"pitch", "q"}, {"wrong", false}});
  add("ballot", {{"round", 1}, {"shark", "two"}, {"pitch", "p"}, {"forecast", nullptr}});
  add("verdict", {{"round", 1}, {"pitch", "p"}, {"kind", "rejected"}, {"speedup", nullptr}});
  add("round", {{"round", 1}, {"winner", "p"}, {"outcome", "rejected"}});
  add("round", {{"round", 2}, {"winner", "q"}, {"outcome", "open"}});
  const Scoreboard board = scoreboard(ledger, "seeds");
  EXPECT_TRUE(board.reported);
  ASSERT_EQ(board.rows.size(), 2u);
  EXPECT_EQ(board.rows[0].claimed.high, 1.8);
  EXPECT_FALSE(board.rows[0].predicted.is_known());
  EXPECT_EQ(board.rows[1].verdict, "open");
  EXPECT_TRUE(board.rows[1].reported);
  ASSERT_EQ(board.wrong_sheets.size(), 1u);
  EXPECT_EQ(board.wrong_sheets[0].recomputed, 7.85);
  EXPECT_EQ(board.sheet_count, 2);
}

TEST(Replay, WhoPromisedMostLosesMost) {
  ScratchFolder folder;
  Ledger ledger(folder / "ledger.db");
  const auto say = [&](const char* shark, nlohmann::json forecast, bool vote) {
    ledger.append("seeds", "ballot", "reported",
                  {{"round", 1},
                   {"shark", shark},
                   {"pitch", "p"},
                   {"vote", vote},
                   {"forecast", std::move(forecast)}});
  };
  say("bold", {{"log_speedup_low", std::log(1.5)}, {"log_speedup_high", std::log(1.8)}}, true);
  say("modest", {{"log_speedup_low", -0.1}, {"log_speedup_high", 0.1}}, false);
  ledger.append(
      "seeds", "verdict", "reported",
      {{"round", 1}, {"pitch", "p"}, {"kind", "rejected"}, {"speedup", {{"value", 0.8}}}});
  const Scoreboard board = scoreboard(ledger, "seeds");
  ASSERT_EQ(board.credibilities.size(), 1u);
  EXPECT_LT(board.credibilities[0].weights.at("bold"), board.credibilities[0].weights.at("modest"));
}

TEST(TimeProfile, SaysWhatDecides) {
  const std::string text = finding({.problem = "p",
                                    .us = 1000,
                                    .short_us = 100,
                                    .thin_us = 300,
                                    .thread_count = 2,
                                    .one_thread_us = 1500,
                                    .light = {.memory_us = 200, .compute_us = 400}});
  EXPECT_EQ(text,
            "p: 1000 us, 40 % of the speed of light (memory 200 us, arithmetic 400 us: arithmetic "
            "decides); 10 % stays when k is cut to 64: call, packing and epilogue; 30 % stays "
            "with 8 tokens per group: reading and decoding weights; 2 threads give 1.50x of one");
}

}  // namespace
}  // namespace thresher
