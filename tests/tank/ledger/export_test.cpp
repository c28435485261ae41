// SPDX-License-Identifier: Apache-2.0
#include "tank/ledger/export.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <sstream>

#include "nvfp4/error_message.hpp"
#include "referee/fault.hpp"
#include "referee/statistics/json.hpp"
#include "tank/scratch_folder.hpp"

namespace thresher {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using testing::ScratchFolder;

MatchSamples some_samples() {
  const auto block = [](int problem, double b) {
    return Block{.problem_index = problem, .first_arm_a = true, .a_ns = {5e6, 5e6}, .b_ns = {b, b}};
  };
  return {
      .problems = {"up", "down"},
      .slowed_truth = 0.95,
      .heats = {{.match = {block(0, 2e6), block(1, 7e6)}, .same = {block(0, 9e6)}, .slowed = {}},
                {.match = {block(0, 4e6)}, .same = {}, .slowed = {block(0, 9e6)}}}};
}

Verdict accepted() {
  MatchEstimate estimate;
  estimate.problems = {{.problem = "up",
                        .speedup = {1.5, 1.25, std::numeric_limits<double>::infinity()},
                        .champion_us = 5000,
                        .challenger_us = 3000}};
  return {.kind = VerdictKind::kAccepted,
          .check = "terms",
          .reason = "faster",
          .estimate = std::move(estimate)};
}

Verdict failed(VerdictKind kind, const char* check) {
  return {.kind = kind, .check = check, .reason = "why", .estimate = {}};
}

LedgerEntry match_entry(const std::string& challenger, const MatchSamples& samples,
                        const Verdict& verdict) {
  return {.id = 17,
          .time_utc = "2026-04-01T12:00:00.000Z",
          .season = "s",
          .kind = "match",
          .source = "measured",
          .data = {{"round", 3},
                   {"pitch", "stages"},
                   {"champion", "cpu_avx2"},
                   {"challenger", challenger},
                   {"suite", "seeds"},
                   {"seed", "12345678901234567890"},
                   {"seconds", 12.5},
                   {"samples", samples},
                   {"verdict", verdict},
                   {"log", json::array()}},
          .previous_hash = {},
          .hash = {}};
}

ordered_json results_of(const LedgerEntry& entry) { return to_t4({entry}).at("results"); }

ordered_json measurement(const ordered_json& result, const char* name) {
  for (const ordered_json& each : result.at("measurements")) {
    if (each.at("name") == name) return each;
  }
  return nullptr;
}

TEST(Export, JsonLinesCarryEverything) {
  const ScratchFolder folder;
  Ledger ledger(folder / "ledger.db");
  ledger.append("seeds", "pitch", "reported", {{"name", "ü\n"}, {"claim", 1.0 / 3}});
  ledger.append("s", "match", "measured", {{"z", 1}, {"a", {{"y", 2}, {"b", 3}}}});
  std::istringstream lines(to_json_lines(ledger.entries()));
  std::string line;
  std::string previous_hash(64, '0');
  std::int64_t count = 0;
  while (std::getline(lines, line)) {
    const json object = json::parse(line);
    // A reader of the lines alone can check the chain.
    const LedgerEntry entry{.id = object.at("id"),
                            .time_utc = object.at("time_utc"),
                            .season = object.at("season"),
                            .kind = object.at("kind"),
                            .source = object.at("source"),
                            .data = object.at("data"),
                            .previous_hash = object.at("previous_hash"),
                            .hash = object.at("hash")};
    EXPECT_EQ(entry.id, ++count);
    EXPECT_EQ(entry.previous_hash, previous_hash);
    EXPECT_EQ(entry_hash(entry), entry.hash);
    previous_hash = entry.hash;
  }
  EXPECT_EQ(count, 2);
}

TEST(Export, ALineIsReadBackOrRefused) {
  const LedgerEntry entry = match_entry("mine", some_samples(), accepted());
  const std::string line = to_json_lines({entry});
  EXPECT_EQ(to_json_lines({entry_of_line(line)}), line);
  const auto refusal = [](const std::string& text) {
    const std::string said = nvfp4::error_message([&] { entry_of_line(text); });
    EXPECT_EQ(said.rfind("it is no entry of an exported ledger: ", 0), 0u) << said;
    return said;
  };
  refusal("nothing");
  refusal("[]");
  EXPECT_NE(refusal(R"({"id": 1})").find("time_utc"), std::string::npos);
  EXPECT_NE(refusal(R"({"id": "one"})").find("number"), std::string::npos);
  const std::string deep = std::string(200, '[') + std::string(200, ']');
  EXPECT_NE(refusal(R"({"data": )" + deep + "}").find("nested too deep"), std::string::npos);
}

TEST(Export, T4HasOneResultPerChallengerAndProblem) {
  const LedgerEntry pitch{.id = 1, .kind = "pitch", .data = json::object()};
  const ordered_json t4 = to_t4({pitch, match_entry("cpu_avx2:decode=direct,stages=4,tile=12x16",
                                                    some_samples(), accepted())});
  EXPECT_EQ(t4.at("schema_version"), "1.0.0");
  EXPECT_EQ(t4.at("metadata").at("timeunit"), "milliseconds");
  ASSERT_EQ(t4.at("results").size(), 2u);

  const ordered_json& up = t4.at("results")[0];
  EXPECT_EQ(up.at("timestamp"), "2026-04-01T12:00:00.000Z");
  EXPECT_EQ(up.at("configuration"), (ordered_json{{"contestant", "cpu_avx2"},
                                                  {"suite", "seeds"},
                                                  {"problem", "up"},
                                                  {"decode", "direct"},
                                                  {"stages", 4},
                                                  {"tile", "12x16"}}));
  // The challenger's samples of the match itself, not those of the controls.
  EXPECT_EQ(up.at("times").at("runtimes"), ordered_json::array({2.0, 2.0, 4.0, 4.0}));
  EXPECT_EQ(up.at("invalidity"), "correct");
  EXPECT_EQ(up.at("correctness"), 1);
  EXPECT_EQ(up.at("objectives"), ordered_json::array({"time"}));
  EXPECT_EQ(measurement(up, "time"),
            (ordered_json{{"name", "time"}, {"value", 3.0}, {"unit", "ms"}}));
  EXPECT_EQ(measurement(up, "champion_time").at("value"), 5.0);
  EXPECT_EQ(measurement(up, "speedup").at("value"), 1.5);
  EXPECT_EQ(measurement(up, "speedup_low").at("value"), 1.25);
  EXPECT_TRUE(measurement(up, "speedup_high").is_null()) << "JSON has no infinity";
  EXPECT_EQ(measurement(up, "verdict").at("value"), "accepted");
  EXPECT_EQ(measurement(up, "source").at("value"), "measured");
  EXPECT_EQ(measurement(up, "ledger_id").at("value").dump(), "17");

  const ordered_json& down = t4.at("results")[1];
  EXPECT_EQ(down.at("configuration").at("problem"), "down");
  EXPECT_EQ(down.at("times").at("runtimes"), ordered_json::array({7.0, 7.0}));
  EXPECT_TRUE(measurement(down, "speedup").is_null());
}

TEST(Export, T4SaysWhatBecameOfEachChallenger) {
  namespace check = referee::check;
  using Kind = VerdictKind;
  const struct {
    Kind kind;
    const char* check;
    const char* invalidity;
  } cases[] = {
      {Kind::kWrong, check::kNumerics, "correctness"},
      {Kind::kWrong, check::kPoison, "correctness"},
      {Kind::kInvalid, check::kBuild, "compile"},
      {Kind::kInvalid, check::kTimeout, "timeout"},
      {Kind::kInvalid, check::kExit, "runtime"},
      {Kind::kInvalid, check::kStart, "runtime"},
      {Kind::kInvalid, check::kError, "runtime"},
      {Kind::kInvalid, check::kProtocol, "runtime"},
      {Kind::kInvalid, check::kGuard, "constraints"},
      {Kind::kInvalid, check::kDeclined, "constraints"},
      {Kind::kInvalid, check::kSpeedOfLight, "constraints"},
      {Kind::kUnclear, check::kTime, "timeout"},
  };
  for (const auto& each : cases) {
    const ordered_json results =
        results_of(match_entry("mine", MatchSamples{}, failed(each.kind, each.check)));
    ASSERT_EQ(results.size(), 1u) << each.check;
    EXPECT_EQ(results[0].at("invalidity"), each.invalidity) << each.check;
    EXPECT_EQ(results[0].at("correctness"), 0);
    EXPECT_EQ(results[0].at("times").at("runtimes"), ordered_json::array());
    EXPECT_EQ(results[0].at("configuration"),
              (ordered_json{{"contestant", "mine"}, {"suite", "seeds"}}));
    EXPECT_TRUE(measurement(results[0], "time").is_null());
  }
  for (const Kind kind : {Kind::kAccepted, Kind::kRejected, Kind::kUnclear}) {
    const ordered_json results =
        results_of(match_entry("mine", some_samples(), failed(kind, "terms")));
    EXPECT_EQ(results[0].at("invalidity"), "correct");
    EXPECT_EQ(results[0].at("correctness"), 1);
  }
}

TEST(Export, T4KeepsReportedTimesApart) {
  LedgerEntry entry = match_entry("b200_stages", MatchSamples{}, accepted());
  entry.source = "reported";
  const ordered_json results = results_of(entry);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].at("configuration").at("problem"), "up");
  EXPECT_EQ(results[0].at("times").at("runtimes"), ordered_json::array());
  EXPECT_EQ(measurement(results[0], "time").at("value"), 3.0);
  EXPECT_EQ(measurement(results[0], "source").at("value"), "reported");
}

TEST(Export, T4TakesAnyName) {
  for (const char* name : {"", ":", "a:", "a:b", "a:=,=,", "a:contestant=x,problem=y", "a:b=1=2"}) {
    const ordered_json results = results_of(match_entry(name, some_samples(), accepted()));
    EXPECT_EQ(results[0].at("configuration").at("problem"), "up") << name;
    EXPECT_EQ(results[0].at("configuration").at("contestant"),
              std::string(name).substr(0, std::string(name).find(':')));
  }
}

TEST(Export, T4NamesTheMalformedEntryAndField) {
  const auto complaint = [](const char* key, const json& value) {
    LedgerEntry entry = match_entry("mine", some_samples(), accepted());
    if (value.is_discarded()) {
      entry.data.erase(key);
    } else {
      entry.data[key] = value;
    }
    return nvfp4::error_message([&] { to_t4({entry}); });
  };
  const json absent(json::value_t::discarded);
  EXPECT_EQ(complaint("challenger", 3), "entry 17: challenger: expected text");
  EXPECT_EQ(complaint("suite", absent), "entry 17: suite: missing");
  EXPECT_EQ(complaint("samples", json::object()), "entry 17: samples.problems: missing");
  EXPECT_EQ(complaint("verdict", nullptr), "entry 17: verdict: expected an object, found null");
}

TEST(Export, AnEmptyLedgerIsAnEmptyExport) {
  EXPECT_EQ(to_json_lines({}), "");
  EXPECT_EQ(to_t4({}).at("results"), ordered_json::array());
}

}  // namespace
}  // namespace thresher
