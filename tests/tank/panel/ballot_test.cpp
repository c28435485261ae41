// SPDX-License-Identifier: Apache-2.0
#include "tank/panel/ballot.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "nvfp4/error_message.hpp"

namespace thresher {
namespace {

using nvfp4::error_message;

// Shark #2 of the seeds on pipeline stages, whose sheet says 8.05.
Ballot shark_two() {
  return {.shark = "two",
          .pitch = "pipeline_stages",
          .scores = {{"speedup", 7}, {"feasibility", 9}, {"risk", 8}, {"pitch", 8}},
          .forecast = {0.9, 0.4, 0.3, 0.5},
          .vote = true,
          .reason = "one line of code"};
}

TEST(Rubric, WeightsSumToOne) {
  ASSERT_EQ(rubric_names().size(), 2u);
  for (const std::string& name : rubric_names()) {
    double sum = 0;
    for (const auto& [dimension, weight] : rubric_by_name(name).weights) sum += weight;
    EXPECT_NEAR(sum, 1, 1e-12) << name;
  }
}

TEST(Rubric, TheDefaultAsksForEvidence) {
  EXPECT_DOUBLE_EQ(rubric_by_name(kDefaultRubric).weights.at("evidence"), 0.25);
  EXPECT_EQ(error_message([] { rubric_by_name("round_9"); }),
            "unknown rubric 'round_9'; there are round_1, round_2");
}

TEST(WeightedScore, AddsUpWhereTheSeedsDidNot) {
  EXPECT_NEAR(weighted_score(shark_two(), rubric_by_name("round_1")), 7.85, 1e-12);
}

TEST(WeightedScore, RefusesAMissingDimensionAndPointsOutsideTheScale) {
  EXPECT_EQ(error_message([] { weighted_score(shark_two(), rubric_by_name("round_2")); }),
            "two's ballot on 'pipeline_stages' has no score for evidence");
  Ballot ballot = shark_two();
  ballot.scores["risk"] = 10.5;
  EXPECT_EQ(error_message([&] { weighted_score(ballot, rubric_by_name("round_1")); }),
            "two's ballot on 'pipeline_stages': risk = 10.5 is not from 0 to 10");
  ballot.scores["risk"] = std::nan("");
  EXPECT_NE(error_message([&] { weighted_score(ballot, rubric_by_name("round_1")); }), "no error");
}

TEST(BallotJson, ReadsBackWhatItWrote) {
  const Ballot ballot = shark_two();
  const nlohmann::json written = ballot;
  const Ballot again = written.get<Ballot>();
  EXPECT_EQ(nlohmann::json(again), written);
  EXPECT_EQ(again.scores, ballot.scores);
  EXPECT_EQ(again.forecast.log_speedup_high, 0.5);
  EXPECT_TRUE(again.vote);
}

TEST(BallotJson, NamesWhatIsMissing) {
  nlohmann::json written = shark_two();
  written["forecast"].erase("p_works");
  EXPECT_NE(error_message([&] { written.get<Ballot>(); }).find("p_works"), std::string::npos);
}

}  // namespace
}  // namespace thresher
