// SPDX-License-Identifier: Apache-2.0
// thresher pitch and thresher constraints: what they print, and their exit codes.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "child.hpp"
#include "tank/pitch/constraint.hpp"
#include "tank/scratch_folder.hpp"
#include "tank/season/seeds_season.hpp"

namespace thresher::cli {
namespace {

using nlohmann::json;
using testing::ScratchFolder;

class PitchCommand : public ::testing::Test {
 protected:
  std::string write(const char* name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

  ScratchFolder folder_;
};

const char* const kComplete =
    "name = \"p\"\nsuite = \"small\"\nclaim = {low = 1.0, high = 4.0}\n"
    "mechanism = \"\"\"two\nlines\"\"\"\n[contestant]\nknobs = {tile = \"8x16\"}\n";

TEST_F(PitchCommand, PrintsACompletePitch) {
  const std::string file = write("p.toml", kComplete);
  const Outcome outcome = run_here({"pitch", "check", file});
  EXPECT_EQ(outcome.exit_code, kExitOk) << outcome.err;
  EXPECT_EQ(outcome.out, file +
                             ": a complete pitch\n"
                             "  pitch    p: p\n"
                             "  claims   2.00x, from 1.00x to 4.00x on suite small, backend cpu\n"
                             "  runs     the champion's variant with tile = 8x16\n"
                             "  because  two lines\n");
}

TEST_F(PitchCommand, ListsAndWritesTheBuiltInOnes) {
  const json listed = json::parse(run_here({"pitch", "list", "--json"}).out);
  const auto has = [&](const char* name, const char* season) {
    return std::any_of(listed["pitches"].begin(), listed["pitches"].end(), [&](const json& one) {
      return one["name"] == name && one["season_of"] == season;
    });
  };
  EXPECT_TRUE(has("plain_c", "cpu"));
  EXPECT_TRUE(has("split_k", "gpu"));
  EXPECT_TRUE(has("graph", ""));

  const Outcome shown = run_here({"pitch", "show", "pipeline_stages"});
  EXPECT_NE(shown.out.find("knobs = {stages = 8}"), std::string::npos) << shown.out;
  const Outcome on_gpu = run_here({"pitch", "show", "pipeline_stages", "--backend", "gpu"});
  EXPECT_NE(on_gpu.out.find("backend = \"gpu\""), std::string::npos) << on_gpu.out;
  const Outcome written = run_here({"pitch", "show", "plain_c", "-o", (folder_ / "mine").string()});
  EXPECT_EQ(written.exit_code, kExitOk) << written.err;
  EXPECT_EQ(run_here({"pitch", "check", (folder_ / "mine/plain_c.toml").string()}).exit_code,
            kExitOk);
  const Outcome unknown = run_here({"pitch", "show", "plian_c"});
  EXPECT_EQ(unknown.exit_code, kExitUsage);
  EXPECT_NE(unknown.err.find("there is no built-in pitch 'plian_c'; there are balanced_schedule,"),
            std::string::npos)
      << unknown.err;
}

// What a suite lacks of a pitch is no fault of it; what is broken may have been meant as one.
TEST_F(PitchCommand, AFolderIsCheckedForItsPitches) {
  write("p.toml", kComplete);
  write("small.toml", "name = \"small\"\n[[problem]]\nname = \"a\"\nm = [1]\nn = 16\nk = 16\n");
  write("rules.toml", "[[constraint]]\nid = \"x\"\n");
  const std::string broken = write("broken.toml", "name = \n");
  const Outcome outcome = run_here({"pitch", "check", (folder_ / "").string()});
  EXPECT_EQ(outcome.out.find("small.toml"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("rules.toml"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(broken + ": "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("p.toml: a complete pitch"), std::string::npos) << outcome.out;
}

TEST_F(PitchCommand, ListsWhatIsMissing) {
  const std::string good = write("p.toml", kComplete);
  const std::string bad = write("q.toml", "name = \"q\"\nsuite = \"small\"\nclaim = 2\nx = 1\n");
  const Outcome outcome = run_here({"pitch", "check", bad, good});
  EXPECT_EQ(outcome.exit_code, kExitFailure);
  EXPECT_TRUE(outcome.out.starts_with(bad + ": 3 faults\n  " + bad +
                                      ":1:1: the pitch has no [contestant]; it says what to run: "
                                      "knobs, variant, source or command\n"
                                      "  " +
                                      bad + ":1:1: the pitch has no mechanism; "))
      << outcome.out;
  EXPECT_NE(outcome.out.find(good + ": a complete pitch\n"), std::string::npos) << outcome.out;
}

TEST_F(PitchCommand, NoticesAProgramThatIsNowhere) {
  const std::string head = "name = \"p\"\nsuite = \"small\"\nclaim = 2\nmechanism = \"m\"\n";
  const std::string file =
      write("p.toml", head + "[contestant]\ncommand = [\"shh\", \"-c\", \"exit 1\"]\n");
  const Outcome outcome = run_here({"pitch", "check", file});
  EXPECT_EQ(outcome.exit_code, kExitFailure);
  EXPECT_TRUE(outcome.out.starts_with(file + ": 1 fault\n  " + file +
                                      ": program 'shh' is not found in PATH"))
      << outcome.out;
  write("p.toml", head + "[contestant]\ncommand = [\"sh\", \"-c\", \"exit 1\"]\n");
  EXPECT_EQ(run_here({"pitch", "check", file}).exit_code, kExitOk);

  const Outcome match = run_here({"match", "--backend", "cpu", "--suite", "small", "--", "shh"});
  EXPECT_EQ(match.exit_code, kExitUsage);
  EXPECT_NE(match.err.find("program 'shh' is not found in PATH"), std::string::npos) << match.err;
}

TEST_F(PitchCommand, SaysWhichFactSpeaksAgainstIt) {
  const std::string file = write(
      "p.toml",
      "name = \"p\"\nsuite = \"small\"\nclaim = 2\nmechanism = \"m\"\nbackend = \"gpu_sm100\"\n"
      "[contestant]\nknobs = {tile = \"64x128x256\"}\n");
  const Outcome outcome = run_here({"pitch", "check", file});
  EXPECT_EQ(outcome.exit_code, kExitFailure);
  EXPECT_TRUE(outcome.out.starts_with(file + ": would not be let in\n")) << outcome.out;
  EXPECT_NE(outcome.out.find("sm100_fp4_m_side: The M side"), std::string::npos) << outcome.out;
}

TEST_F(PitchCommand, ChecksPitchesForAGpuWithoutOne) {
  const std::string file =
      write("p.toml",
            "name = \"p\"\nsuite = \"seeds\"\nclaim = 2\nmechanism = \"m\"\nbackend = \"gpu\"\n"
            "[contestant]\nknobs = {launches = \"grouped\"}\n");
  const Outcome outcome = run_here({"pitch", "check", file});
  EXPECT_EQ(outcome.exit_code, kExitOk) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("2.00x on suite seeds, backend gpu"), std::string::npos)
      << outcome.out;
  const Outcome on_cpu = run_here({"pitch", "check", "--backend", "cpu", file});
  EXPECT_EQ(on_cpu.exit_code, kExitFailure);
  EXPECT_NE(on_cpu.out.find("a season on backend cpu cannot play it: the pitch needs gpu"),
            std::string::npos)
      << on_cpu.out;
}

TEST_F(PitchCommand, SpeaksJson) {
  const std::string file = write("p.toml", kComplete);
  const std::string missing = (folder_ / "missing.toml").string();
  const Outcome outcome = run_here({"pitch", "check", "--json", file, missing});
  EXPECT_EQ(outcome.exit_code, kExitFailure);
  const json pitches = json::parse(outcome.out).at("pitches");
  ASSERT_EQ(pitches.size(), 2u);
  EXPECT_EQ(pitches[0].at("ok"), true);
  EXPECT_EQ(pitches[0].at("pitch").at("claim").at("high"), 4);
  EXPECT_EQ(pitches[0].at("veto"), nullptr);
  EXPECT_EQ(pitches[1].at("ok"), false);
  EXPECT_EQ(pitches[1].at("pitch"), nullptr);
  EXPECT_EQ(pitches[1].at("faults"),
            json::array({"cannot read pitch '" + missing + "': No such file or directory"}));
}

TEST(PitchUsage, AsksForFiles) {
  EXPECT_EQ(run_here({"pitch"}).exit_code, kExitUsage);
  EXPECT_EQ(run_here({"pitch", "check"}).exit_code, kExitUsage);
}

TEST(ConstraintsCommand, ListsFactsWithoutALedger) {
  const Outcome outcome = run_here({"constraints", "--json"});
  EXPECT_EQ(outcome.exit_code, kExitOk) << outcome.err;
  const json constraints = json::parse(outcome.out).at("constraints");
  ASSERT_GE(constraints.size(), builtin_constraints().size());
  for (const json& constraint : constraints) {
    if (constraint.at("kind") != "hardware" || constraint.at("reported") == true) continue;
    EXPECT_EQ(constraint.at("active"), true) << constraint.at("id");
    EXPECT_EQ(constraint.at("expires"), "never");
    EXPECT_FALSE(constraint.at("origin").get<std::string>().empty());
  }
}

TEST(ConstraintsCommand, SaysWhetherLearnedOnesStillBind) {
  const ScratchFolder folder;
  const std::string path = (folder / "ledger.db").string();
  Ledger ledger(path);
  import_seeds_season(ledger);
  ledger.append("spring", "season", "measured",
                {{"suite", "small"}, {"backend", "cpu"}, {"champion_hash", "c0"}});
  const Constraint lesson = *lesson_of({.name = "p", .backend = "cpu", .knobs = {{"stages", "8"}}},
                                       {.season = "spring",
                                        .round = 1,
                                        .suite = "small",
                                        .champion_hash = "c0",
                                        .reason = "slower",
                                        .verdict_entry = 3});
  ledger.append("spring", "constraint", "measured", constraint_entry(lesson));
  const auto state_of = [&](const std::string& id, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"constraints", "--ledger", path, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const json listed = json::parse(run_here(arguments).out);
    for (const json& one : listed.at("constraints")) {
      if (one.at("id") == id) return one.at("why_inactive").get<std::string>();
    }
    return std::string("not listed");
  };
  const std::vector<std::string> on_cpu{"--backend", "cpu"};
  EXPECT_EQ(state_of("spring_round1_p", on_cpu), "");
  EXPECT_EQ(state_of("seeds_tile_sizes", on_cpu), "not listed") << "it speaks of a GPU";
  EXPECT_EQ(state_of("seeds_tile_sizes"), "reported, not measured here: it binds nobody");
  ledger.append("spring", "champion", "measured", {{"champion_hash", "c1"}});
  EXPECT_EQ(state_of("spring_round1_p", on_cpu), "reopened: the champion has changed since");

  const Outcome all = run_here({"constraints", "--ledger", path});
  EXPECT_NE(all.out.find("  refuted by  sm100_fp4_n_side_step: The N side"), std::string::npos);
  EXPECT_NE(all.out.find("  refutes  seeds_tile_sizes: thresher verify"), std::string::npos);
  const Outcome table = run_here({"constraints", "--backend", "cpu", "--ledger", path});
  EXPECT_NE(table.out.find("spring_round1_p\n"
                           "  claims  p lost in round 1: slower.\n"
                           "  vetoes  backend cpu, stages = 8\n"
                           "  source  ledger entry 3, season spring\n"
                           "  kind    regression; speaks of small; expires: champion changes\n"
                           "  state   reopened: the champion has changed since\n"),
            std::string::npos)
      << table.out;
}

TEST(ConstraintsCommand, AsksForTheLedgerThatIsNamed) {
  const Outcome outcome = run_here({"constraints", "--ledger", "/nowhere/ledger.db"});
  EXPECT_EQ(outcome.exit_code, kExitFailure);
  EXPECT_NE(outcome.err.find("there is no ledger '/nowhere/ledger.db'"), std::string::npos);
}

}  // namespace
}  // namespace thresher::cli
