// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/json.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "nvfp4/error_message.hpp"

namespace thresher {
namespace {

using nlohmann::json;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

MatchSamples some_samples() {
  const Block first{
      .problem_index = 0, .first_arm_a = true, .a_ns = {1000.5, 1001}, .b_ns = {9, 8}};
  const Block second{
      .problem_index = 1, .first_arm_a = false, .a_ns = {1.0 / 3, 2}, .b_ns = {3, 4e9}};
  return {.problems = {"up", "down"},
          .slowed_truth = 0.95,
          .heats = {{.match = {first, second}, .same = {second}, .slowed = {first}},
                    {.match = {second}, .same = {}, .slowed = {}}}};
}

Verdict some_verdict() {
  MatchEstimate estimate{.speedup = {1.1, 1.05, 1.15},
                         .lower_bound = 1.06,
                         .problems = {{.problem = "up",
                                       .speedup = {1.2, 0.1, kInfinity},
                                       .lower_bound = 1.01,
                                       .champion_us = 12.5,
                                       .challenger_us = 10.25,
                                       .champion_spread = 0.01,
                                       .challenger_spread = 0.02}},
                         .controls = {.same = {1, 0.99, 1.01},
                                      .slowed = {0.95, 0.94, 0.96},
                                      .slowed_truth = 0.95,
                                      .ok = false,
                                      .why_not = "missed the slowdown"},
                         .heat_count = 7,
                         .minimum_detectable_effect = 0.004,
                         .more_heats_needed = 3};
  return {.kind = VerdictKind::kUnclear,
          .check = "terms",
          .reason = "too noisy",
          .estimate = std::move(estimate),
          .missing_protections = {"seccomp", "landlock"}};
}

// Through text, as the ledger does it.
template <typename Value>
Value round_trip(const Value& value) {
  return json::parse(json(value).dump()).get<Value>();
}

// Ledgers of before have none of these keys, and blocks that need none stay as short as they were.
TEST(RefereeJson, NewKeysAreWrittenWhereNeededAndMissedNowhere) {
  MatchSamples samples = some_samples();
  EXPECT_FALSE(json(samples).contains("same_plan"));
  EXPECT_FALSE(json(samples)["rounds"][0]["match"][0].contains("disturbed"));
  EXPECT_TRUE(round_trip(samples).same_plan.empty());
  samples.same_plan = {"down"};
  samples.heats[0].match[1].disturbed = true;
  const MatchSamples back = round_trip(samples);
  EXPECT_EQ(back.same_plan, samples.same_plan);
  EXPECT_FALSE(back.heats[0].match[0].disturbed);
  EXPECT_TRUE(back.heats[0].match[1].disturbed);
  Verdict verdict = some_verdict();
  EXPECT_FALSE(json(verdict)["estimate"].contains("blocks_left_out"));
  verdict.estimate->left_out_count = 4;
  EXPECT_EQ(round_trip(verdict).estimate->left_out_count, 4);
}

TEST(RefereeJson, SaysHowCallsWereTimed) {
  MatchSamples samples = some_samples();
  EXPECT_FALSE(json(samples).contains("timing"));
  EXPECT_FALSE(round_trip(samples).timing);
  samples.timing = {.calls = measure::Surroundings::kBackToBack, .cold = false};
  EXPECT_EQ(json(samples)["timing"], json({{"calls", "back_to_back"}, {"cold", false}}));
  EXPECT_EQ(round_trip(samples).timing, samples.timing);
  Verdict verdict = some_verdict();
  EXPECT_FALSE(json(verdict).contains("timing"));
  verdict.timing = samples.timing;
  EXPECT_EQ(round_trip(verdict).timing, samples.timing);
  json wrong = samples;
  wrong["timing"]["calls"] = "sideways";
  EXPECT_EQ(nvfp4::error_message([&] { wrong.get<MatchSamples>(); }),
            "samples.timing.calls: surroundings are foreign, back_to_back or alone");
}

TEST(RefereeJson, SamplesReadBackEqual) {
  const MatchSamples samples = round_trip(some_samples());
  EXPECT_EQ(samples.problems, (std::vector<std::string>{"up", "down"}));
  EXPECT_EQ(samples.slowed_truth, 0.95);
  ASSERT_EQ(samples.heats.size(), 2u);
  ASSERT_EQ(samples.heats[0].match.size(), 2u);
  ASSERT_EQ(samples.heats[0].same.size(), 1u);
  ASSERT_EQ(samples.heats[0].slowed.size(), 1u);
  EXPECT_EQ(samples.heats[1].match.size(), 1u);
  EXPECT_TRUE(samples.heats[1].same.empty());
  const Block& block = samples.heats[0].match[1];
  EXPECT_EQ(block.problem_index, 1);
  EXPECT_FALSE(block.first_arm_a);
  EXPECT_EQ(block.a_ns[0], 1.0 / 3);
  EXPECT_EQ(block.a_ns[1], 2);
  EXPECT_EQ(block.b_ns[0], 3);
  EXPECT_EQ(block.b_ns[1], 4e9);
  EXPECT_TRUE(samples.heats[0].slowed[0].first_arm_a);
}

// Every field, because the text of both is the same only if nothing was lost.
TEST(RefereeJson, NothingIsLost) {
  EXPECT_EQ(json(round_trip(some_samples())), json(some_samples()));
  EXPECT_EQ(json(round_trip(some_verdict())), json(some_verdict()));
  const DealTerms terms{.speedup_min = 1.02,
                        .regression_max = 0.1,
                        .spread_max = 0.2,
                        .tail_max = 0.3,
                        .confidence = 0.99};
  EXPECT_EQ(json(round_trip(terms)), json({{"speedup_min", 1.02},
                                           {"regression_max", 0.1},
                                           {"spread_max", 0.2},
                                           {"tail_max", 0.3},
                                           {"confidence", 0.99}}));
  json older = terms;
  older.erase("tail_max");
  EXPECT_EQ(older.get<DealTerms>().tail_max, 0) << "nobody asked for it then";
  EXPECT_EQ(json(round_trip(MatchSamples{})), json(MatchSamples{}));
}

TEST(RefereeJson, VerdictReadsBackEqual) {
  const Verdict verdict = round_trip(some_verdict());
  EXPECT_EQ(verdict.kind, VerdictKind::kUnclear);
  EXPECT_EQ(verdict.check, "terms");
  EXPECT_EQ(verdict.reason, "too noisy");
  EXPECT_EQ(verdict.missing_protections, (std::vector<std::string>{"seccomp", "landlock"}));
  ASSERT_TRUE(verdict.estimate.has_value());
  const MatchEstimate& estimate = *verdict.estimate;
  EXPECT_EQ(estimate.speedup.high, 1.15);
  EXPECT_EQ(estimate.lower_bound, 1.06);
  EXPECT_EQ(estimate.heat_count, 7);
  EXPECT_EQ(estimate.minimum_detectable_effect, 0.004);
  EXPECT_EQ(estimate.more_heats_needed, 3);
  EXPECT_FALSE(estimate.controls.ok);
  EXPECT_EQ(estimate.controls.why_not, "missed the slowdown");
  EXPECT_EQ(estimate.controls.slowed_truth, 0.95);
  ASSERT_EQ(estimate.problems.size(), 1u);
  EXPECT_EQ(estimate.problems[0].problem, "up");
  EXPECT_EQ(estimate.problems[0].speedup.high, kInfinity);
  EXPECT_EQ(estimate.problems[0].challenger_us, 10.25);
  EXPECT_EQ(estimate.problems[0].challenger_spread, 0.02);
}

// Ledgers from before heats had a word of their own must stay readable.
TEST(RefereeJson, HeatsAreStillCalledRounds) {
  EXPECT_EQ(json(some_samples()).at("rounds").size(), 2u);
  const json estimate = json(some_verdict()).at("estimate");
  EXPECT_EQ(estimate.at("round_count"), 7);
  EXPECT_EQ(estimate.at("more_rounds_needed"), 3);
}

TEST(RefereeJson, AVerdictMayHaveNoEstimate) {
  const Verdict verdict{
      .kind = VerdictKind::kWrong, .check = "poison", .reason = "row 3", .estimate = {}};
  EXPECT_TRUE(json(verdict).at("estimate").is_null());
  Verdict read = some_verdict();
  json(verdict).get_to(read);
  EXPECT_FALSE(read.estimate.has_value());
  EXPECT_TRUE(read.missing_protections.empty());
}

TEST(RefereeJson, NumbersThatJsonCannotWriteReadBack) {
  const Estimate estimate =
      round_trip(Estimate{.value = std::nan(""), .low = -kInfinity, .high = kInfinity});
  EXPECT_TRUE(std::isnan(estimate.value));
  EXPECT_EQ(estimate.low, -kInfinity);
  EXPECT_EQ(estimate.high, kInfinity);
}

template <typename Value>
std::string complaint(const Value& value, const char* pointer, const json& replacement) {
  json changed = value;
  changed[json::json_pointer(pointer)] = replacement;
  return nvfp4::error_message([&] { changed.get<Value>(); });
}

TEST(RefereeJson, NamesTheMalformedField) {
  const Verdict verdict = some_verdict();
  EXPECT_EQ(complaint(verdict, "/estimate/problems/0/speedup/low", true),
            "verdict.estimate.problems[0].speedup.low: expected a number, found true");
  EXPECT_EQ(complaint(verdict, "/estimate/problems/0/speedup/low", "fast"),
            "verdict.estimate.problems[0].speedup.low: expected a number, found \"fast\"");
  EXPECT_EQ(complaint(verdict, "/estimate/problems/0/speedup", 3),
            "verdict.estimate.problems[0].speedup: expected an object, found 3");
  EXPECT_EQ(complaint(verdict, "/estimate/problems", json::object()),
            "verdict.estimate.problems: expected a list, found object");
  EXPECT_EQ(complaint(verdict, "/estimate/controls/ok", 1),
            "verdict.estimate.controls.ok: expected true or false, found 1");
  EXPECT_EQ(complaint(verdict, "/estimate/round_count", 1.5),
            "verdict.estimate.round_count: expected an integer, found 1.5");
  EXPECT_EQ(complaint(verdict, "/estimate/round_count", 3'000'000'000),
            "verdict.estimate.round_count: expected an integer of 32 bits, found 3000000000");
  EXPECT_EQ(complaint(verdict, "/estimate/round_count", UINT64_MAX),
            "verdict.estimate.round_count: expected an integer of 32 bits, "
            "found 18446744073709551615");
  EXPECT_EQ(complaint(verdict, "/kind", "great"),
            "verdict.kind: verdict = \"great\" is none of accepted, rejected, wrong, invalid, "
            "unclear");
  EXPECT_EQ(complaint(verdict, "/missing_protections/1", nullptr),
            "verdict.missing_protections[1]: expected text, found null");
  EXPECT_EQ(complaint(verdict, "/reason", std::string(100, 'x')), "no error");
  EXPECT_EQ(complaint(verdict, "/estimate/lower_bound", std::string(1000, 'x')),
            "verdict.estimate.lower_bound: expected a number, found \"" + std::string(39, 'x'));
}

TEST(RefereeJson, NamesTheMissingField) {
  json changed = some_verdict();
  changed.at("estimate").erase("speedup");
  EXPECT_EQ(nvfp4::error_message([&] { changed.get<Verdict>(); }),
            "verdict.estimate.speedup: missing");
  EXPECT_EQ(nvfp4::error_message([&] { json().get<DealTerms>(); }),
            "terms: expected an object, found null");
}

TEST(RefereeJson, RefusesSamplesThatNobodyCouldIndex) {
  const MatchSamples samples = some_samples();
  EXPECT_EQ(complaint(samples, "/rounds/0/same/0/problem_index", 2),
            "samples.rounds[0].same[0].problem_index: expected the index of one of 2 problems, "
            "found 2");
  EXPECT_EQ(complaint(samples, "/rounds/1/match/0/problem_index", -1),
            "samples.rounds[1].match[0].problem_index: expected the index of one of 2 problems, "
            "found -1");
  EXPECT_EQ(complaint(samples, "/rounds/0/match/1/a_ns", {1, 2, 3}),
            "samples.rounds[0].match[1].a_ns: expected two numbers, found array");
}

TEST(RefereeJson, IgnoresKeysItDoesNotKnow) {
  json extended = some_verdict();
  extended["later"] = "a field of a later version";
  EXPECT_EQ(json(extended.get<Verdict>()), json(some_verdict()));
}

}  // namespace
}  // namespace thresher
