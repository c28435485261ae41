// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "nvfp4/error_message.hpp"
#include "tank/panel/ballot.hpp"

namespace thresher {
namespace {

using nvfp4::error_message;

constexpr const char* kGood = R"(shark = "Ada"

[[ballot]]
pitch = "stages"
vote = true
p_works = 0.25
speedup = 1.1
speedup_low = 0.9
speedup_high = 1.25
reason = "decoding hides already"
scores = { speedup = 3, evidence = 4.5, feasibility = 9, risk = 6 }
)";

std::string with_change(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string faults_of(const std::string& text) {
  return error_message([&] { parse_votes(text, "ada.toml", rubric_by_name("round_2")); });
}

TEST(VoteFile, ReadsABallot) {
  const std::vector<Ballot> ballots = parse_votes(kGood, "ada.toml", rubric_by_name("round_2"));
  ASSERT_EQ(ballots.size(), 1u);
  const Ballot& ballot = ballots[0];
  EXPECT_EQ(ballot.shark, "Ada");
  EXPECT_EQ(ballot.pitch, "stages");
  EXPECT_TRUE(ballot.vote);
  EXPECT_EQ(ballot.scores.at("evidence"), 4.5);
  EXPECT_EQ(ballot.forecast.p_works, 0.25);
  EXPECT_DOUBLE_EQ(ballot.forecast.log_speedup_median, std::log(1.1));
  EXPECT_DOUBLE_EQ(ballot.forecast.log_speedup_low, std::log(0.9));
  EXPECT_DOUBLE_EQ(ballot.forecast.log_speedup_high, std::log(1.25));
}

TEST(VoteFile, NamesThePlaceOfEveryFault) {
  EXPECT_EQ(faults_of(with_change(kGood, "p_works = 0.25", "p_works = 25")),
            "ada.toml:6:11: p_works is not a number from 0 to 1");
  EXPECT_EQ(faults_of(with_change(kGood, "risk = 6", "risk = \"low\"")),
            "ada.toml:11:65: risk is not a number from 0 to 10");
  EXPECT_EQ(faults_of(with_change(kGood, "vote = true", "vote = 1")),
            "ada.toml:5:8: vote is an integer; true or false is allowed");
  EXPECT_EQ(
      faults_of(with_change(kGood, "speedup_low = 0.9", "speedup_low = 1.2")),
      "ada.toml:7:11: speedup_low = 1.2, speedup = 1.1, speedup_high = 1.25 are not in order");
  EXPECT_EQ(
      faults_of(with_change(kGood, "evidence = 4.5", "pitch = 4.5")),
      "ada.toml:11:10: evidence is missing: a number from 0 to 10\n"
      "ada.toml:11:25: unknown key \"pitch\"; rubric round_2 has evidence, feasibility, risk, "
      "speedup");
  EXPECT_NE(
      faults_of(with_change(kGood, "shark = \"Ada\"", "")).find("shark is missing: who votes"),
      std::string::npos);
}

TEST(VoteFile, SaysWhyItCannotBeRead) {
  EXPECT_EQ(nvfp4::error_message([] { load_votes("none.toml", rubric_by_name("round_2")); }),
            "cannot read votes 'none.toml': No such file or directory");
}

TEST(VoteFile, AskForAReasonAndForBallots) {
  EXPECT_NE(faults_of(with_change(kGood, "reason = \"decoding hides already\"", ""))
                .find("reason is missing: one sentence that says why"),
            std::string::npos);
  EXPECT_NE(faults_of("shark = \"Ada\"").find("the file has no [[ballot]] tables"),
            std::string::npos);
}

TEST(VoteFile, OneVoteAndOneBallotPerPitch) {
  const std::string ballot = std::string(kGood).substr(std::string(kGood).find("[[ballot]]"));
  EXPECT_EQ(faults_of(std::string(kGood) + ballot),
            "ada.toml:12:1: a second ballot on \"stages\"\n"
            "ada.toml:14:8: a second vote; a shark has one in a round");
}

}  // namespace
}  // namespace thresher
