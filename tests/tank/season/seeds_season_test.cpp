// SPDX-License-Identifier: Apache-2.0
// The seeds' season: whole, imported once, never shown as measured, and added up anew.
#include "tank/season/seeds_season.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "gemm/suite.hpp"
#include "nvfp4/error_message.hpp"
#include "tank/pitch/constraint.hpp"
#include "tank/scratch_folder.hpp"

namespace thresher {
namespace {

using nlohmann::json;
using nvfp4::error_message;
using testing::ScratchFolder;

std::vector<json> entries_of(const std::string& kind) {
  std::vector<json> list;
  for (ReportedEntry& entry : seeds_season_entries()) {
    if (entry.kind == kind) list.push_back(std::move(entry.data));
  }
  return list;
}

json find(const std::string& kind, const std::string& key, const json& value) {
  for (const json& data : entries_of(kind)) {
    if (data.at(key) == value) return data;
  }
  return nullptr;
}

TEST(SeedsSeason, IsWhole) {
  std::map<std::string, int> count;
  for (const ReportedEntry& entry : seeds_season_entries()) ++count[entry.kind];
  EXPECT_EQ(count, (std::map<std::string, int>{{"season", 1},
                                               {"pitch", 15},
                                               {"sheet", 8},
                                               {"ballot", 18},
                                               {"time", 16},
                                               {"verdict", 4},
                                               {"constraint", 2},
                                               {"champion", 1},
                                               {"round", 5}}));
}

TEST(SeedsSeason, HappensInOrder) {
  const std::vector<ReportedEntry> entries = seeds_season_entries();
  EXPECT_EQ(entries.front().kind, "season");
  EXPECT_EQ(entries.back().kind, "round");
  int round = 1;
  for (const ReportedEntry& entry : entries) {
    EXPECT_FALSE(entry.data.at("document").get<std::string>().empty());
    if (entry.kind == "season") continue;
    EXPECT_TRUE(entry.data.at("round") == round || entry.data.at("round") == round + 1);
    round = entry.data.at("round");
  }
  EXPECT_EQ(round, 5);
}

TEST(SeedsSeason, SpeaksOfPitchesAndProblemsThatThereAre) {
  std::set<std::string> pitches;
  for (const json& pitch : entries_of("pitch")) {
    EXPECT_TRUE(pitches.insert(pitch.at("name")).second) << pitch.at("name");
  }
  for (const char* kind : {"ballot", "sheet", "verdict"}) {
    for (const json& data : entries_of(kind)) {
      EXPECT_TRUE(pitches.contains(data.at("pitch"))) << kind << " " << data.at("pitch");
    }
  }
  for (const json& data : entries_of("round")) EXPECT_TRUE(pitches.contains(data.at("winner")));
  std::set<std::string> problems;
  for (const Problem& problem : load_suite("seeds").problems) problems.insert(problem.name);
  for (const json& data : entries_of("time")) EXPECT_TRUE(problems.contains(data.at("problem")));
  for (const json& pitch : entries_of("pitch")) {
    for (const auto& [problem, claim] : pitch.at("claim_by_problem").items()) {
      EXPECT_TRUE(problems.contains(problem)) << problem;
    }
  }
}

TEST(SeedsSeason, RoundsEndAsReported) {
  const auto outcome = [](int round) { return find("round", "round", round).at("outcome"); };
  EXPECT_EQ(outcome(1), "rejected");
  EXPECT_EQ(outcome(2), "invalid");
  EXPECT_EQ(outcome(3), "accepted");
  EXPECT_EQ(find("round", "round", 3).at("champion_was"), "wrong");
  EXPECT_EQ(outcome(4), "accepted");
  EXPECT_EQ(outcome(5), "open");
  EXPECT_TRUE(find("verdict", "round", 5).is_null()) << "nobody reported one";
  EXPECT_EQ(find("champion", "round", 4).at("champion"), "minimal_fix");
}

TEST(SeedsSeason, ComputesSpeedupsFromReportedTimes) {
  const json speedup = find("verdict", "pitch", "pipeline_stages").at("speedup");
  const double geomean = std::pow(373.0 / 488 * 372.0 / 462 * 173.0 / 249 * 156.0 / 228, 0.25);
  EXPECT_NEAR(speedup.at("value").get<double>(), geomean, 1e-6);
  EXPECT_NEAR(speedup.at("low").get<double>(), 156.0 / 228, 1e-6);
  EXPECT_NEAR(speedup.at("high").get<double>(), 372.0 / 462, 1e-6);
  EXPECT_LT(geomean, 0.74) << "36 % more time, not 30 %";
  EXPECT_TRUE(find("verdict", "pitch", "tile_sizes_round2").at("speedup").is_null());
}

TEST(SeedsSeason, LeavesOutWhatNobodySaid) {
  EXPECT_TRUE(find("pitch", "name", "wild_card").at("claim").is_null());
  const json claim = find("pitch", "name", "stream_parallelism").at("claim");
  EXPECT_EQ(claim.at("low"), 4);
  EXPECT_EQ(claim.at("high"), 7);
  EXPECT_NEAR(claim.at("value").get<double>(), std::sqrt(28), 1e-6);
  for (const json& ballot : entries_of("ballot")) {
    if (ballot.at("forecast").is_null()) continue;
    EXPECT_TRUE(ballot.at("forecast").at("p_works").is_null());
    EXPECT_TRUE(ballot.at("forecast").at("log_speedup_median").is_null());
    EXPECT_LT(ballot.at("forecast").at("log_speedup_low"),
              ballot.at("forecast").at("log_speedup_high"));
  }
  for (const json& ballot : entries_of("ballot")) {
    EXPECT_TRUE(ballot.at("score").is_number()) << ballot;
    EXPECT_TRUE(ballot.at("vote").is_boolean()) << ballot;
  }
}

TEST(SeedsSeason, IsImportedOnce) {
  const ScratchFolder folder;
  Ledger ledger(folder / "ledger.db");
  ledger.append("spring", "round", "measured", {{"round", 1}});
  EXPECT_EQ(import_seeds_season(ledger), seeds_season_entries().size());
  EXPECT_EQ(import_seeds_season(ledger), 0u);
  EXPECT_EQ(ledger.entries(kSeedsSeason).size(), seeds_season_entries().size());
  for (const LedgerEntry& entry : ledger.entries(kSeedsSeason)) {
    EXPECT_EQ(entry.source, "reported");
  }
  EXPECT_TRUE(ledger.audit().ok);
}

TEST(SeedsSeason, AnInterruptedImportIsFinished) {
  const ScratchFolder folder;
  Ledger ledger(folder / "ledger.db");
  const std::vector<ReportedEntry> entries = seeds_season_entries();
  for (std::size_t i = 0; i < 20; ++i) {
    ledger.append(kSeedsSeason, entries[i].kind, "reported", entries[i].data);
  }
  EXPECT_EQ(import_seeds_season(ledger), entries.size() - 20);
  const std::vector<LedgerEntry> imported = ledger.entries(kSeedsSeason);
  ASSERT_EQ(imported.size(), entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(imported[i].kind, entries[i].kind);
    EXPECT_EQ(imported[i].data, entries[i].data);
  }
}

TEST(SeedsSeason, ItsConstraintsBindNobody) {
  const ScratchFolder folder;
  Ledger ledger(folder / "ledger.db");
  import_seeds_season(ledger);
  const std::vector<Constraint> constraints = learned_constraints(ledger);
  ASSERT_EQ(constraints.size(), 2u);
  Pitch pitch{.name = "p", .backend = "gpu_sm100", .knobs = {{"tile", "128x64x256"}}};
  EXPECT_FALSE(find_veto(pitch, constraints, {.suite = "seeds", .season = "seeds"}))
      << "N = 64 is legal, whatever the seeds concluded";
}

struct Sum {
  std::string pitch;
  double recomputed;
  std::string written;
  bool wrong;
};

TEST(ScoreSheets, AreAddedUpAnew) {
  const std::vector<Sum> sums = {{"pipeline_stages", 7.85, "8.05", true},
                                 {"tile_sizes", 5.75, "5.85", true},
                                 {"tma_store_epilogue", 6.75, "6.95", true},
                                 {"warp_specialisation", 5.25, "5.35", true},
                                 {"pipeline_stages_round2", 5.1, "4.2", true},
                                 {"tile_sizes_round2", 8.75, "8.7", false},
                                 {"tma_store_epilogue_round2", 6.5, "6.5", false},
                                 {"warp_specialisation_round2", 5.4, "5.3", true}};
  const std::vector<json> sheets = entries_of("sheet");
  ASSERT_EQ(sheets.size(), sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    EXPECT_EQ(sheets[i].at("pitch"), sums[i].pitch);
    EXPECT_EQ(sheets[i].at("total_recomputed"), sums[i].recomputed) << sums[i].pitch;
    EXPECT_EQ(sheets[i].at("total_as_written"), sums[i].written);
    EXPECT_EQ(sheets[i].at("total_on_sheet"), std::stod(sums[i].written));
    EXPECT_EQ(sheets[i].at("wrong"), sums[i].wrong) << sums[i].pitch;
    double weights = 0;
    for (const auto& [dimension, weight] : sheets[i].at("weights").items()) {
      weights += weight.get<double>();
      EXPECT_TRUE(sheets[i].at("scores").contains(dimension));
    }
    EXPECT_NEAR(weights, 1, 1e-12);
  }
}

TEST(ScoreSheets, RoundingIsNoMistake) {
  ScoreSheet sheet{.scores = {{"a", 7}, {"b", 8}}, .weights = {{"a", 0.75}, {"b", 0.25}}};
  for (const char* total : {"7.25", "7.3", "7.2", "7"}) {
    sheet.total_as_written = total;
    EXPECT_FALSE(is_wrong(sheet)) << total;
  }
  for (const char* total : {"7.26", "7.4", "7.1", "8", "7.0"}) {
    sheet.total_as_written = total;
    EXPECT_TRUE(is_wrong(sheet)) << total;
  }
  sheet.total_as_written = "many";
  EXPECT_EQ(error_message([&] { is_wrong(sheet); }), "the total \"many\" is no number");
}

}  // namespace
}  // namespace thresher
