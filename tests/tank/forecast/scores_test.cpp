// SPDX-License-Identifier: Apache-2.0
// A season on a B200 whose referee needs none: the sealed forecasts enter before anything is
// measured, and what the matches find scores them.
#include "tank/forecast/scores.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/backends.hpp"
#include "gemm/suite.hpp"
#include "referee/statistics/json.hpp"
#include "tank/fake_season.hpp"
#include "tank/forecast/forecasts.hpp"
#include "tank/pitch/shipped_pitches.hpp"
#include "tank/scratch_folder.hpp"
#include "tank/season/scoreboard.hpp"
#include "tank/season/season.hpp"

namespace thresher {
namespace {

using namespace testing;

constexpr const char* kChampion = "gpu_sm100:stages=2,launches=per_group,dual=two_pass";

struct ForetoldSeason {
  ScratchFolder folder;
  Ledger ledger{folder / "ledger.db"};
  FakeMachine machine;
  SeasonSetup setup = fake_setup("s");

  explicit ForetoldSeason(const SmLimits& limits) {
    setup.rules.backend = "gpu";
    setup.rules.suite = load_suite("seeds");
    setup.champion = variant_named(kChampion);
    setup.limits = limits;
    setup.rates = published_b200().rates;
    machine.speed_of_setting = {{"launches=per_group", 0.5}, {"stages=2", 0.8}};
    setup.pitches.clear();
    for (const ShippedPitch& shipped : shipped_pitches()) {
      if (shipped.folder != "pitches/gpu") continue;
      if (shipped.name != "grouped_launch" && shipped.name != "pipeline_stages") continue;
      setup.pitches.push_back(
          parse_pitch(shipped.text, shipped.name + ".toml", {.folder = {}, .stem = shipped.name}));
    }
  }

  ForecastScores play() {
    play_season(ledger, setup, fake_tools(machine));
    return *scoreboard(ledger, "s").forecasts;
  }
};

const LedgerEntry* first_match(const std::vector<LedgerEntry>& entries) {
  for (const LedgerEntry& entry : entries) {
    if (entry.kind == "match") return &entry;
  }
  return nullptr;
}

TEST(ForecastScores, WhatAMatchMeasuresScoresWhatWasForetoldOfIt) {
  ForetoldSeason season(published_b200().limits);
  const ForecastScores scores = season.play();
  const std::vector<LedgerEntry> entries = season.ledger.entries("s");
  const LedgerEntry* match = first_match(entries);
  ASSERT_NE(match, nullptr);
  EXPECT_EQ(scores.fault, "");
  int scored_times = 0;
  int scored_speedups = 0;
  for (const ScoredForecast& one : scores.forecasts) {
    EXPECT_EQ(one.score.has_value(), one.measured.has_value()) << one.subject;
    if (one.is_time && one.suite == "seeds" && one.variant == kChampion) {
      ASSERT_TRUE(one.measured && one.score);
      EXPECT_DOUBLE_EQ(one.measured->value, 1000 / season.machine.speed(season.setup.champion));
      ++scored_times;
    }
    EXPECT_FALSE(one.suite != "seeds" && one.measured) << "nobody played " << one.suite;
    if (one.is_time || one.variant != match->data.at("challenger")) continue;
    if (one.suite != "seeds") continue;
    // The sharks' rule, on the forecast as it stands in the ledger.
    const Verdict verdict = match->data.at("verdict").get<Verdict>();
    Forecast forecast{.p_works = *one.p_works,
                      .log_speedup_median = std::log(one.predicted->value),
                      .log_speedup_low = std::log(one.predicted->low),
                      .log_speedup_high = std::log(one.predicted->high)};
    EXPECT_NEAR(one.score->loss(), score_forecast(forecast, outcome_of(verdict)).loss(), 1e-9);
    EXPECT_DOUBLE_EQ(one.measured->value, verdict.estimate->speedup.value);
    ++scored_speedups;
  }
  EXPECT_EQ(scored_times, 4);
  EXPECT_GE(scored_speedups, 1);
  ASSERT_TRUE(scores.mean_loss());
  EXPECT_GT(*scores.mean_loss(), 0);
  EXPECT_LE(*scores.mean_loss(), 1);
}

TEST(ForecastScores, ForecastsStandBeforeTheFirstMatchAndAreNeverMeasured) {
  ForetoldSeason season(published_b200().limits);
  season.play();
  const std::vector<LedgerEntry> entries = season.ledger.entries("s");
  for (const LedgerEntry& entry : entries) {
    const bool foretold = entry.kind == kForecastKind || entry.kind == kForecastsKind;
    EXPECT_EQ(entry.source, foretold ? "predicted" : "measured") << entry.kind;
    EXPECT_FALSE(foretold && entry.id > first_match(entries)->id);
  }
  // What the scoreboard calls measured are the rows of matches, as many as without forecasts.
  const auto json = to_ordered_json(scoreboard(season.ledger, "s"));
  EXPECT_EQ(json.at("forecasts").at("source"), "predicted");
  EXPECT_EQ(json.at("rows").size(), season.ledger.entries("s", "verdict").size());
  for (const auto& one : json.at("forecasts").at("forecasts")) {
    EXPECT_TRUE(one.at("suite") == "seeds" || one.at("measured").is_null());
  }
  EXPECT_TRUE(season.ledger.audit().ok);
}

TEST(ForecastScores, SeasonsElsewhereHaveNone) {
  ForetoldSeason season({.compute_capability = 103, .sm_count = 148});
  play_season(season.ledger, season.setup, fake_tools(season.machine));
  EXPECT_FALSE(scoreboard(season.ledger, "s").forecasts);
  EXPECT_TRUE(season.ledger.entries("s", kForecastKind).empty());
}

TEST(ForecastScores, AKilledSeasonDoesNotTakeThemTwice) {
  ForetoldSeason season(published_b200().limits);
  season.setup.rounds_max = 1;
  season.setup.stays_open = true;
  season.play();
  const std::size_t count = season.ledger.entries("s", kForecastKind).size();
  season.play();
  EXPECT_EQ(season.ledger.entries("s", kForecastKind).size(), count);
}

// Entries as somebody might have forged them.
TEST(ForecastScores, ForgedOrLateForecastsScoreNothing) {
  ForetoldSeason season(published_b200().limits);
  season.play();
  const std::vector<LedgerEntry> whole = season.ledger.entries("s");
  const auto fault_of = [&](const auto& forge) {
    std::vector<LedgerEntry> forged = whole;
    forge(forged);
    const ForecastScores scores = *score_forecasts(forged);
    EXPECT_FALSE(scores.mean_loss());
    return scores.fault;
  };
  const auto of_kind = [](std::vector<LedgerEntry>& entries, const char* kind) {
    return std::find_if(entries.begin(), entries.end(),
                        [&](const LedgerEntry& entry) { return entry.kind == kind; });
  };
  EXPECT_EQ(fault_of([&](auto& all) { of_kind(all, kForecastKind)->data["us"]["median"] = 1; }),
            "the forecasts are not those that were sealed");
  EXPECT_EQ(fault_of([&](auto& all) { of_kind(all, kForecastKind)->source = "measured"; }),
            "a forecast says that it was measured");
  EXPECT_EQ(fault_of([&](auto& all) { of_kind(all, kForecastsKind)->id = 1e6; }),
            "the forecasts were sealed after a match had been played");
}

}  // namespace
}  // namespace thresher
