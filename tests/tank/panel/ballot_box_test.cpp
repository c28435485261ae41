// SPDX-License-Identifier: Apache-2.0
#include "tank/panel/ballot_box.hpp"

#include <gtest/gtest.h>

namespace thresher {
namespace {

Ballot ballot(const std::string& shark, const std::string& pitch, double points) {
  return {
      .shark = shark,
      .pitch = pitch,
      .scores = {
          {"speedup", points}, {"evidence", points}, {"feasibility", points}, {"risk", points}}};
}

Pitch pitch(const std::string& name, Level risk, Level complexity) {
  Pitch made;
  made.name = name;
  made.risk = risk;
  made.complexity = complexity;
  return made;
}

std::vector<std::string> order(const std::vector<Ballot>& ballots,
                               const std::vector<Pitch>& pitches,
                               const Credibilities& credibilities = {{"a", 0.5}, {"b", 0.5}}) {
  std::vector<std::string> names;
  for (const RankedPitch& one : rank(ballots, rubric_by_name("round_2"), credibilities, pitches)) {
    names.push_back(one.pitch);
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(Ranking, CredibilityDecides) {
  const std::vector<Pitch> pitches{pitch("x", Level::kLow, Level::kLow),
                                   pitch("y", Level::kLow, Level::kLow)};
  const std::vector<Ballot> ballots{ballot("a", "x", 8), ballot("b", "x", 2), ballot("a", "y", 4),
                                    ballot("b", "y", 7)};
  EXPECT_EQ(order(ballots, pitches), (Names{"y", "x"}));
  EXPECT_EQ(order(ballots, pitches, {{"a", 0.9}, {"b", 0.1}}), (Names{"x", "y"}));
}

TEST(Ranking, TiesGoToLowerRiskThenLowerComplexity) {
  const std::vector<Ballot> ballots{ballot("a", "x", 5), ballot("a", "y", 5.004),
                                    ballot("a", "z", 5)};
  EXPECT_EQ(order(ballots,
                  {pitch("x", Level::kMedium, Level::kMedium),
                   pitch("y", Level::kHigh, Level::kLow), pitch("z", Level::kMedium, Level::kLow)}),
            (Names{"z", "x", "y"}));
}

TEST(Ranking, ThenToAgreementThenToTheName) {
  const std::vector<Pitch> pitches{pitch("w", Level::kLow, Level::kLow),
                                   pitch("x", Level::kLow, Level::kLow),
                                   pitch("v", Level::kLow, Level::kLow)};
  EXPECT_EQ(order({ballot("a", "w", 2), ballot("b", "w", 8), ballot("a", "x", 5),
                   ballot("b", "x", 5), ballot("a", "v", 5), ballot("b", "v", 5)},
                  pitches),
            (Names{"v", "x", "w"}));
}

TEST(Ranking, AMissingBallotLeavesItsWeightToTheOthers) {
  const std::vector<Pitch> pitches{pitch("x", Level::kLow, Level::kLow),
                                   pitch("y", Level::kLow, Level::kLow),
                                   pitch("unseen", Level::kLow, Level::kLow)};
  const auto ranked = rank({ballot("a", "x", 6), ballot("a", "y", 5), ballot("b", "y", 5)},
                           rubric_by_name("round_2"), {{"a", 0.5}, {"b", 0.5}}, pitches);
  ASSERT_EQ(ranked.size(), 2u);
  EXPECT_EQ(ranked[0].pitch, "x");
  EXPECT_NEAR(ranked[0].score, 6, 1e-12);
}

}  // namespace
}  // namespace thresher
