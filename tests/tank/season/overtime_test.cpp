// SPDX-License-Identifier: Apache-2.0
// Which unclear matches are worth going on with. season_test.cpp plays them.
#include "tank/season/overtime.hpp"

#include <gtest/gtest.h>

namespace thresher {
namespace {

PlayedMatch unclear_match(const std::string& pitch, double high, int more_heats) {
  PlayedMatch match{.entry = 10, .pitch = pitch, .champion_hash = "c"};
  match.verdict = {.kind = VerdictKind::kUnclear, .check = "terms"};
  match.verdict.estimate = MatchEstimate{.speedup = {.value = 1, .low = 0.9, .high = high},
                                         .more_heats_needed = more_heats};
  match.samples.heats.resize(5);
  match.seconds = 10;
  return match;
}

SeasonRecord record_of(std::vector<PlayedMatch> matches) {
  SeasonRecord record;
  record.champion_hash = "c";
  record.rounds[1].matches = std::move(matches);
  record.rounds[1].is_finished = true;
  return record;
}

std::vector<std::string> names(const SeasonRecord& record) {
  std::vector<std::string> found;
  for (const OpenMatch& open : open_matches(record, DealTerms{})) {
    found.push_back(open.match->pitch);
  }
  return found;
}

TEST(Overtime, TheSoonestDecidedComesFirst) {
  const SeasonRecord record =
      record_of({unclear_match("slow", 1.2, 40), unclear_match("soon", 1.05, 3)});
  EXPECT_EQ(names(record), (std::vector<std::string>{"soon", "slow"}));
  EXPECT_DOUBLE_EQ(open_matches(record, DealTerms{})[0].seconds_needed, 3 * 2.0);
}

TEST(Overtime, NeedsAChance) {
  PlayedMatch contradicted = unclear_match("contradicted", 1.2, 3);
  contradicted.verdict.check = "controls";
  PlayedMatch decided = unclear_match("decided", 1.2, 3);
  decided.verdict.kind = VerdictKind::kAccepted;
  PlayedMatch of_old = unclear_match("of_an_old_champion", 1.2, 3);
  of_old.champion_hash = "b";
  EXPECT_TRUE(
      names(record_of({unclear_match("at_most_the_term", 1.01, 3), contradicted, decided, of_old}))
          .empty());
}

TEST(Overtime, WhatNeverCameToAHeatMayGoOn) {
  PlayedMatch unknown = unclear_match("unknown", 1, 0);
  unknown.verdict.estimate.reset();
  unknown.samples.heats.clear();
  EXPECT_EQ(names(record_of({unknown})), std::vector<std::string>{"unknown"});
}

TEST(Overtime, ARoundThatIsBeingPlayedIsNotOver) {
  SeasonRecord record = record_of({unclear_match("soon", 1.05, 3)});
  record.rounds[1].is_finished = false;
  EXPECT_TRUE(names(record).empty());
}

}  // namespace
}  // namespace thresher
