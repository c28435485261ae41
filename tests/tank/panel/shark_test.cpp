// SPDX-License-Identifier: Apache-2.0
// The four sharks on their own evidence. Claims and machines are made up, so that every number in a
// reason can be worked out.
#include "tank/panel/shark.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tank/fake_season.hpp"
#include "tank/scratch_folder.hpp"

namespace thresher {
namespace {

using namespace testing;

// The pitch as a round hands it to a shark.
Pitch against_champion(Pitch pitch) {
  pitch.contestant = contestant_against(pitch, fake_champion());
  return pitch;
}

Pitch deeper(double claim) {
  return against_champion(fake_pitch("deeper", claim, "knobs = {stages = 4}"));
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// One group of whole tiles that every thread gets an equal part of.
Problem even_problem() { return {.name = "even", .groups = {{.m = 256, .n = 256, .k = 1024}}}; }

Machine machine_with(int thread_count) {
  return {.rates = {.read_gb_per_s = 10,
                    .nvfp4_gop_per_s = 100,
                    .fp16_gop_per_s = 50,
                    .bf16_gop_per_s = 50},
          .thread_count = thread_count,
          .limits = {}};
}

TEST(Shark, PointsForSpeedupAreTheTimeSaved) {
  EXPECT_EQ(speedup_points(0), 0);
  EXPECT_EQ(speedup_points(-1), 0);
  EXPECT_NEAR(speedup_points(std::log(1.25)), 4, 1e-12);  // saves a fifth
  EXPECT_NEAR(speedup_points(std::log(2)), 10, 1e-12);
  EXPECT_EQ(speedup_points(std::log(50)), 10);
}

TEST(Shark, ABeliefBecomesAForecastAndPoints) {
  const Ballot ballot = make_ballot("X", deeper(2),
                                    {.p_right = 0.9,
                                     .log_speedup = std::log(1.01),
                                     .log_speedup_sd = 0.1,
                                     .evidence = 12,
                                     .reason = "so"},
                                    {});
  EXPECT_NEAR(ballot.forecast.p_works, 0.45, 1e-9);  // half of what is right meets the terms
  EXPECT_NEAR(ballot.forecast.log_speedup_high - ballot.forecast.log_speedup_low,
              2 * 0.12815515655446, 1e-9);
  EXPECT_EQ(ballot.scores.at("evidence"), 10);
  EXPECT_NEAR(ballot.scores.at("feasibility"), 9, 1e-12);
  EXPECT_EQ(ballot.scores.at("pitch"), 4);  // mechanism and bottleneck, nothing else
  EXPECT_GT(weighted_score(ballot, rubric_by_name("round_1")), 0);
}

TEST(Shark, NobodyIsCertain) {
  const Ballot ballot = make_ballot("X", deeper(2), {.p_right = 0}, {});
  EXPECT_GT(ballot.forecast.p_works, 0);
}

TEST(Shark, VotesForItsBest) {
  std::vector<Ballot> ballots{make_ballot("X", deeper(2), {.log_speedup = 0.0}, {}),
                              make_ballot("X", deeper(2), {.log_speedup = 0.3}, {})};
  cast_vote(ballots, rubric_by_name("round_2"));
  EXPECT_FALSE(ballots[0].vote);
  EXPECT_TRUE(ballots[1].vote);
}

TheoristEvidence theorist_evidence() {
  return {.suite = {.name = "s", .problems = {even_problem()}},
          .machine = machine_with(1),
          .champion = fake_champion(),
          // 2 * 256 * 256 * 1024 operations at 100 G/s are 1342 us; memory needs less than 100.
          .champion_us = {{"even", 2684}}};
}

TEST(Theorist, CapsAClaimByTheShareOfItsBottleneck) {
  // Memory is a few percent of the champion's time: hiding it cannot double the speed.
  const Ballot ballot = theorist(theorist_evidence()).judge(deeper(2.0));
  EXPECT_TRUE(contains(ballot.reason, "caps the claim of 2.00x")) << ballot.reason;
  EXPECT_TRUE(contains(ballot.reason, "measured")) << ballot.reason;
  EXPECT_LT(ballot.forecast.log_speedup_median, std::log(1.1));
  EXPECT_LE(ballot.scores.at("evidence"), 1);
}

TEST(Theorist, AModestClaimIsNotCapped) {
  const Ballot ballot = theorist(theorist_evidence()).judge(deeper(1.01));
  EXPECT_FALSE(contains(ballot.reason, "caps")) << ballot.reason;
  EXPECT_GT(ballot.scores.at("evidence"), 1);
}

TEST(Theorist, NothingBeatsTheSpeedOfLight) {
  TheoristEvidence evidence = theorist_evidence();
  evidence.champion_us["even"] = 1343;  // at the floor already
  Pitch pitch = deeper(3.0);
  pitch.bottleneck = "arithmetic";
  pitch.family = "";
  const Ballot ballot = theorist(evidence).judge(pitch);
  EXPECT_TRUE(contains(ballot.reason, "allows 1.00x at most")) << ballot.reason;
  EXPECT_LT(ballot.forecast.p_works, 0.5);
}

TEST(Theorist, SeesWhatASequenceCosts) {
  TheoristEvidence evidence = theorist_evidence();
  evidence.suite.problems = {
      {.name = "even", .groups = {{4, 32, 4096}, {4, 32, 4096}, {4, 32, 4096}, {4, 32, 4096}}}};
  evidence.machine.thread_count = 2;
  evidence.machine.rates.read_gb_per_s = 1000;
  evidence.champion_us.clear();
  const Ballot ballot = theorist(evidence).judge(
      against_champion(fake_pitch("in_turn", 1.2, "knobs = {schedule = \"sequence\"}")));
  EXPECT_TRUE(contains(ballot.reason, "gives 0.50x")) << ballot.reason;
  EXPECT_NEAR(ballot.forecast.log_speedup_median, std::log(0.5), 0.01);
}

TEST(Skeptic, WithoutHistoryBelievesAQuarter) {
  const Ballot ballot = skeptic({}, {}).judge(deeper(2.0));
  EXPECT_NEAR(ballot.forecast.log_speedup_median, 0.25 * std::log(2), 1e-12);
  EXPECT_TRUE(contains(ballot.reason, "(0 of its family among 0 in the ledger)")) << ballot.reason;
}

TEST(Skeptic, ShrinksByWhatTheFamilyDelivered) {
  // Six claims of this family, all a third slower: (2 * 0.25 - 6 * 1.1 * 0.5) / (2 + 6.6).
  const PastClaim slower{
      .family = "deeper", .log_claim = 0.8, .worked = false, .log_speedup = -0.4};
  const Ballot ballot = skeptic(std::vector<PastClaim>(6, slower), {}).judge(deeper(2.0));
  EXPECT_NEAR(ballot.forecast.log_speedup_median, (0.5 - 3.3) / 8.6 * std::log(2), 1e-9);
  EXPECT_NEAR(ballot.forecast.p_works, 0.5 / 8.6, 1e-9);  // the base rate
}

TEST(Skeptic, HearsayCountsLess) {
  PastClaim past{.family = "deeper", .log_claim = 0.8, .log_speedup = -0.8};
  const double measured = skeptic({past}, {}).judge(deeper(2.0)).forecast.log_speedup_median;
  past.reported = true;
  const double reported = skeptic({past}, {}).judge(deeper(2.0)).forecast.log_speedup_median;
  const double nothing = skeptic({}, {}).judge(deeper(2.0)).forecast.log_speedup_median;
  EXPECT_LT(measured, reported);
  EXPECT_LT(reported, nothing);
}

TEST(Skeptic, TheAuthorCountsToo) {
  PastClaim past{
      .family = "other", .author = "Ada", .log_claim = 0.5, .worked = true, .log_speedup = 0.5};
  const double ada = skeptic({past}, {}).judge(deeper(2.0)).forecast.log_speedup_median;
  past.author = "Bob";
  const double bob = skeptic({past}, {}).judge(deeper(2.0)).forecast.log_speedup_median;
  EXPECT_GT(ada, bob);
}

TEST(TrackRecord, JoinsVerdictsToTheirClaims) {
  ScratchFolder folder;
  Ledger ledger(folder / "ledger.db");
  ledger.append("a", "pitch", "measured",
                {{"name", "p"}, {"family", "f"}, {"author", nullptr}, {"claim", {{"value", 2.0}}}});
  ledger.append("seeds", "pitch", "reported",
                {{"name", "p"}, {"claim", {{"value", nullptr}, {"low", 1.0}, {"high", 4.0}}}});
  ledger.append("seeds", "verdict", "reported",
                {{"pitch", "p"}, {"kind", "invalid"}, {"speedup", nullptr}});
  ledger.append("a", "verdict", "measured",
                {{"pitch", "p"}, {"kind", "accepted"}, {"speedup", {{"value", 1.5}}}});
  ledger.append("a", "verdict", "measured", {{"pitch", "p"}, {"kind", "unclear"}});
  ledger.append("a", "verdict", "measured", {{"pitch", "unknown"}, {"kind", "accepted"}});
  const std::vector<PastClaim> claims = past_claims(ledger);
  ASSERT_EQ(claims.size(), 2u);
  EXPECT_TRUE(claims[0].reported);
  EXPECT_FALSE(claims[0].log_speedup);
  EXPECT_NEAR(claims[0].log_claim, std::log(2), 1e-12);
  EXPECT_TRUE(claims[1].worked);
  EXPECT_NEAR(*claims[1].log_speedup, std::log(1.5), 1e-12);
}

Ballot pragmatic(const Pitch& pitch) {
  return pragmatist(
             {.suite = fake_suite(), .machine = machine_with(2), .champion = fake_champion()})
      .judge(pitch);
}

TEST(Pragmatist, CountsTheKnobsThatTurn) {
  EXPECT_TRUE(contains(pragmatic(deeper(1.2)).reason, "1 knob turned"));
  const Ballot two = pragmatic(
      against_champion(fake_pitch("p", 1.2, "knobs = {stages = 4, store = \"streaming\"}")));
  EXPECT_TRUE(contains(two.reason, "2 knobs turned")) << two.reason;
  EXPECT_LT(two.forecast.p_works, pragmatic(deeper(1.2)).forecast.p_works);
}

TEST(Pragmatist, SaysWhatCannotRun) {
  const Ballot ballot =
      pragmatic(against_champion(fake_pitch("p", 1.2, "knobs = {roles = \"split\"}")));
  EXPECT_TRUE(contains(ballot.reason, "problem 'one': roles=split needs decode=panel"))
      << ballot.reason;
  EXPECT_NEAR(ballot.forecast.p_works, 0.02, 1e-9);
}

TEST(Pragmatist, ForeignCodeCostsTrust) {
  Pitch pitch = deeper(1.2);
  pitch.contestant = {.kind = ContestantKind::kCommand, .name = "p", .command = {"true"}};
  const Ballot ballot = pragmatic(pitch);
  EXPECT_TRUE(contains(ballot.reason, "foreign code (command)"));
  EXPECT_LT(ballot.forecast.p_works, pragmatic(deeper(1.2)).forecast.p_works);
}

TEST(Pragmatist, HoldsAPitchToItsOwnWorstCase) {
  Pitch pitch = deeper(1.2);
  pitch.claim_by_problem["one"] = {.value = 1, .low = 0.9, .high = 1.1};
  const Ballot ballot = pragmatic(pitch);
  EXPECT_TRUE(contains(ballot.reason, "allows for 0.90x somewhere")) << ballot.reason;
  EXPECT_LT(ballot.scores.at("risk"), pragmatic(deeper(1.2)).scores.at("risk"));
}

Ballot after_pilot(std::optional<Verdict> verdict) {
  return oracle([verdict](const Contestant&) { return verdict; }, {}).judge(deeper(50));
}

Verdict pilot_verdict(double low, double value, double high) {
  return {.kind = VerdictKind::kUnclear,
          .estimate = MatchEstimate{.speedup = {value, low, high}, .heat_count = 2}};
}

TEST(Oracle, BelievesAQuietPilotMoreThanANoisyOne) {
  const Ballot quiet = after_pilot(pilot_verdict(1.18, 1.2, 1.22));
  const Ballot noisy = after_pilot(pilot_verdict(0.8, 1.2, 1.8));
  EXPECT_NEAR(quiet.forecast.log_speedup_median, std::log(1.2), 0.01);
  EXPECT_LT(noisy.forecast.log_speedup_median, quiet.forecast.log_speedup_median);
  EXPECT_GT(noisy.forecast.log_speedup_high - noisy.forecast.log_speedup_low,
            quiet.forecast.log_speedup_high - quiet.forecast.log_speedup_low);
  EXPECT_TRUE(contains(quiet.reason, "2 heats found 1.200x")) << quiet.reason;
}

TEST(Oracle, AnOpenIntervalIsNoisy) {
  const double inf = std::numeric_limits<double>::infinity();
  const Ballot ballot = after_pilot(pilot_verdict(0, 1.2, inf));
  EXPECT_TRUE(std::isfinite(ballot.forecast.log_speedup_high));
  EXPECT_NEAR(ballot.forecast.log_speedup_median, std::log(1.2) / 2, 1e-9);
}

TEST(Oracle, AWrongPilotIsAVerdict) {
  const Ballot ballot = after_pilot(
      Verdict{.kind = VerdictKind::kWrong, .check = "numerics", .reason = "row 3 is off"});
  EXPECT_NEAR(ballot.forecast.p_works, 0.02, 1e-9);
  EXPECT_TRUE(contains(ballot.reason, "the pilot was wrong: row 3 is off"));
}

TEST(Oracle, WithoutAPilotKnowsNothingAndSaysSo) {
  const Ballot ballot = after_pilot(std::nullopt);
  EXPECT_EQ(ballot.forecast.log_speedup_median, 0);
  EXPECT_EQ(ballot.scores.at("evidence"), 0);
  EXPECT_TRUE(contains(ballot.reason, "no time is left for a pilot"));
}

}  // namespace
}  // namespace thresher
