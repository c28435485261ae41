// SPDX-License-Identifier: Apache-2.0
// The tournament's commands in small: what they print and record. The contestant does not compile,
// so that its verdict is certain and takes no time.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "child.hpp"
#include "cli/command_line.hpp"
#include "referee/reachable.hpp"

namespace thresher::cli {
namespace {

constexpr const char* kPitch = R"(
name = "broken"
suite = "tiny.toml"
claim = {low = 1.5, high = 2.5}
mechanism = "what does not run takes no time"
[contestant]
source = "broken.c"
)";

class Tournament : public ::testing::Test {
 protected:
  Tournament() { folder_.write("broken.c", "int broken = ;\n"); }

  Outcome match(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"match", "--backend", "cpu", "--suite", suite_,
                                         "--seconds", "1", "--threads", "1"});
    return run_thresher(arguments);
  }

  const TemporaryFolder folder_;
  const std::string suite_ = folder_.write("tiny.toml", kTinySuite);
  const std::string pitch_ = folder_.write("broken.toml", kPitch);
  const std::string ledger_ = folder_.path("ledger.db");
};

TEST_F(Tournament, ASeasonIsPlayedRecordedAndShown) {
  const Outcome season = run_thresher(
      {"season", "--backend", "cpu", "--suite", suite_, "--threads", "1", "--season", "small",
       "--seconds", "2", "--match-seconds", "1", "--ledger", ledger_, "--json", pitch_});
  ASSERT_EQ(season.exit_code, kExitOk) << season.err;
  const nlohmann::json played = nlohmann::json::parse(season.out);
  EXPECT_EQ(played["season"], "small");
  EXPECT_EQ(played["suite"], "tiny");
  EXPECT_EQ(played["backend"], "cpu");
  EXPECT_TRUE(played["ended"]);
  ASSERT_EQ(played["rows"].size(), 1u);
  EXPECT_EQ(played["rows"][0]["verdict"], "invalid");
  EXPECT_EQ(played["rows"][0]["claimed"]["low"], 1.5);
  EXPECT_TRUE(played["rows"][0]["measured"].is_null());

  const Outcome table = run_thresher({"scoreboard", "--ledger", ledger_});
  EXPECT_NE(table.out.find("Season small, suite tiny, on "), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("1  broken  1.50 to 2.50x"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("invalid"), std::string::npos) << table.out;
  EXPECT_EQ(nlohmann::json::parse(run_thresher({"scoreboard", "--ledger", ledger_, "--json"}).out),
            played);
  EXPECT_EQ(run_thresher({"ledger", "verify", "--ledger", ledger_}).exit_code, kExitOk);
}

// The reason for a verdict is on the terminal, while it is played and afterwards.
TEST_F(Tournament, EveryVerdictSaysWhy) {
  const Outcome round = run_thresher({"round", "--backend", "cpu", "--suite", suite_, "--threads",
                                      "1", "--seconds", "2", "--ledger", ledger_, pitch_});
  ASSERT_EQ(round.exit_code, kExitOk) << round.err;
  EXPECT_NE(round.err.find("s] broken: invalid: "), std::string::npos) << round.err;
  EXPECT_NE(round.out.find("\nWhy\n  1 broken  invalid: "), std::string::npos) << round.out;
  EXPECT_NE(round.out.find("The pitch was not accepted."), std::string::npos) << round.out;
  const Outcome table = run_thresher({"scoreboard", "--ledger", ledger_});
  EXPECT_NE(table.out.find("\nWhy\n  1 broken  invalid: "), std::string::npos) << table.out;
}

// Where nothing can be written, and without leaving a ledger where it can.
TEST_F(Tournament, TheSeedsSeasonIsShownWithoutALedger) {
  const std::string nowhere = folder_.path("nowhere/ledger.db");
  const Outcome table = run_thresher({"scoreboard", "--season", "seeds", "--ledger", nowhere});
  EXPECT_EQ(table.exit_code, kExitOk) << table.err;
  EXPECT_NE(table.out.find("Season seeds"), std::string::npos) << table.out;
  EXPECT_FALSE(std::filesystem::exists(folder_.path("nowhere")));
}

// As commands, by somebody who may write nothing of it.
TEST_F(Tournament, ReadingNeedsNoRightToWrite) {
  namespace fs = std::filesystem;
  const std::string place = folder_.path("place");
  fs::create_directory(place);
  const std::string ledger = place + "/ledger.db";
  ASSERT_EQ(run_thresher({"round", "--backend", "cpu", "--suite", suite_, "--threads", "1",
                          "--seconds", "2", "--season", "read", "--ledger", ledger, pitch_})
                .exit_code,
            kExitOk);
  fs::permissions(folder_.path(""), fs::perms{0755});
  fs::create_directory(folder_.path("open"));
  fs::permissions(folder_.path("open"), fs::perms{0777});
  for (const fs::directory_entry& entry : fs::directory_iterator(place)) {
    fs::permissions(entry.path(), fs::perms{0444});
  }
  fs::permissions(place, fs::perms{0555});
  const std::string program = testing::reachable_program().string();
  const std::string as_nobody =
      geteuid() == 0 ? "setpriv --reuid 65534 --regid 65534 --clear-groups " : "";
  const std::pair<const char*, const char*> reads[] = {
      {"scoreboard", "Season read"}, {"scoreboard --json", "\"read\""},
      {"ledger verify", "entries"},  {"ledger show", "verdict"},
      {"constraints", "hardware"},   {"report --output ../open/page.html", "wrote "}};
  for (const auto& [words, shown] : reads) {
    const Outcome outcome =
        run_shell(fmt::format("thresher --version >/dev/null; cd {} && {}{} {} --ledger {}", place,
                              as_nobody, program, words, ledger));
    EXPECT_EQ(outcome.exit_code, kExitOk) << words << ": " << outcome.err;
    EXPECT_NE(outcome.out.find(shown), std::string::npos) << words << ": " << outcome.out;
  }
  fs::permissions(place, fs::perms{0755});
}

// The binary alone, where nothing of this house is.
TEST_F(Tournament, ACopiedBinaryPlaysItsSeason) {
  namespace fs = std::filesystem;
  const std::string place = folder_.path("elsewhere");
  fs::create_directory(place);
  fs::permissions(folder_.path(""), fs::perms{0755});
  fs::copy_file(THRESHER_BINARY_DIR "/thresher", place + "/thresher");
  const Outcome season =
      run_shell(fmt::format("thresher --version >/dev/null; cd {} && ./thresher season --backend "
                            "cpu --suite {} --threads "
                            "1 --seconds 1 --match-seconds 1",
                            place, suite_));
  EXPECT_EQ(season.exit_code, kExitOk) << season.err;
  EXPECT_NE(season.out.find("Season "), std::string::npos) << season.out;
  EXPECT_TRUE(fs::exists(place + "/out/ledger.db"));
  const Outcome table = run_shell(
      fmt::format("thresher --version >/dev/null; cd {} && ./thresher scoreboard", place));
  EXPECT_EQ(table.exit_code, kExitOk) << table.err;
}

TEST_F(Tournament, AFolderWithoutPitchesIsNoSeason) {
  std::filesystem::create_directory(folder_.path("empty"));
  for (const char* command : {"round", "season"}) {
    const Outcome outcome =
        run_thresher({command, "--backend", "cpu", "--ledger", ledger_, folder_.path("empty")});
    EXPECT_EQ(outcome.exit_code, kExitUsage);
    EXPECT_NE(outcome.err.find("has no pitches: no .toml file in it is one"), std::string::npos)
        << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(ledger_)) << "a mistake leaves no ledger behind";
  }
}

TEST_F(Tournament, TheSeedsNameIsReserved) {
  const Outcome outcome =
      run_thresher({"round", "--backend", "cpu", "--season", "seeds", "--ledger", ledger_, pitch_});
  EXPECT_NE(outcome.exit_code, kExitOk);
  EXPECT_NE(outcome.err.find("'seeds' is the season that ships with the program"),
            std::string::npos)
      << outcome.err;
}

TEST_F(Tournament, APitchWhoseToolsAreMissingIsNotPlayed) {
  folder_.write("mine.py", "");
  const std::string needy = folder_.write("needy.toml", R"(
name = "needy"
suite = "tiny.toml"
claim = 2
mechanism = "a package that nobody has"
needs = "python:no_such_package"
[contestant]
command = ["python3", "mine.py"]
)");
  const Outcome both =
      run_thresher({"round", "--backend", "cpu", "--suite", suite_, "--threads", "1", "--seconds",
                    "2", "--ledger", ledger_, "--json", needy, pitch_});
  EXPECT_EQ(both.exit_code, kExitOk) << both.err;
  EXPECT_TRUE(
      both.err.starts_with("not played here: needy: python3 has no package 'no_such_package'\n"))
      << both.err;
  EXPECT_EQ(nlohmann::json::parse(both.out)["rows"].size(), 1u);
  const Outcome alone = run_thresher({"round", "--backend", "cpu", "--ledger", ledger_, needy});
  EXPECT_EQ(alone.exit_code, kExitUsage) << alone.err;
}

// The champion's own knobs: nothing to play, which is said, and is no success.
TEST_F(Tournament, WhatCannotEnterIsSaid) {
  const std::string same = folder_.write("same.toml", R"(
name = "same"
suite = "tiny.toml"
claim = 1.1
mechanism = "what the champion does already"
[contestant]
knobs = {stages = 0}
)");
  const Outcome outcome = run_thresher({"round", "--backend", "cpu", "--suite", suite_, "--threads",
                                        "1", "--seconds", "2", "--ledger", ledger_, same});
  EXPECT_EQ(outcome.exit_code, kExitFailure) << outcome.err;
  EXPECT_NE(outcome.out.find("not played: same: the champion does this already"), std::string::npos)
      << outcome.out;
}

TEST_F(Tournament, TermsAreThoseTheSeasonWasStartedWith) {
  const std::vector<std::string> round{
      "round", "--backend", "cpu",    "--suite",  suite_,  "--threads", "1",       "--seconds",
      "2",     "--season",  "strict", "--ledger", ledger_, pitch_,      "--terms", "speedup=1.05"};
  ASSERT_EQ(run_thresher(round).exit_code, kExitOk);
  const Outcome shown = run_thresher(
      {"ledger", "show", "--season", "strict", "--kind", "season", "--json", "--ledger", ledger_});
  EXPECT_NE(shown.out.find("\"speedup_min\":1.05"), std::string::npos) << shown.out;
  const Outcome again = run_thresher(round);
  EXPECT_EQ(again.exit_code, kExitUsage);
  EXPECT_NE(again.err.find("judged by the terms it was started with"), std::string::npos)
      << again.err;
}

TEST_F(Tournament, AMistakeLeavesNoLedgerBehind) {
  const std::string needy = folder_.write("needy.toml", R"(
name = "needy"
suite = "tiny.toml"
claim = 2
mechanism = "a program that nobody has"
needs = "no_such_program"
[contestant]
source = "broken.c"
)");
  const std::vector<std::vector<std::string>> mistakes = {
      {"season", "--season", "seeds", pitch_},
      {"season", "--suite", "sedes", pitch_},
      {"season", "--terms", "speedpu=1", pitch_},
      {"season", "--more", "5"},
      {"season", "--resume"},
      {"season", "--resume", "--season", "nobodys"},
      {"round", needy}};
  for (std::vector<std::string> words : mistakes) {
    words.insert(words.end(), {"--backend", "cpu", "--ledger", folder_.path("new/ledger.db")});
    const Outcome outcome = run_thresher(words);
    EXPECT_NE(outcome.exit_code, kExitOk) << outcome.out;
    EXPECT_FALSE(std::filesystem::exists(folder_.path("new"))) << outcome.err;
  }
}

TEST_F(Tournament, TermsAreNumbersInTheirRange) {
  const std::pair<const char*, const char*> wrong[] = {
      {"confidence=1", "confidence is a number from 0.5 to 0.9999, and '1' is not"},
      {"confidence=2", "confidence is a number from 0.5 to 0.9999, and '2' is not"},
      {"confidence=nan", "confidence is a number from 0.5 to 0.9999, and 'nan' is not"},
      {"confidence=0", "confidence is a number from 0.5 to 0.9999, and '0' is not"},
      {"speedup=0", "speedup is a number from 0.5 to 100, and '0' is not"},
      {"speedup=-1", "speedup is a number from 0.5 to 100, and '-1' is not"},
      {"regression=-0.1", "regression is a number from 0 to 10, and '-0.1' is not"},
      {"tail", "tail is a number from 0 to 10, and '' is not"},
      {"sped=1.1", "'sped=1.1' is not speedup, regression, spread, tail, confidence = a number"},
      {"speedpu=1.1", "did you mean 'speedup'?"}};
  for (const auto& [term, said] : wrong) {
    const Outcome outcome = match({"--challenger", folder_.path("broken.c"), "--terms", term});
    EXPECT_EQ(outcome.exit_code, kExitUsage) << term;
    EXPECT_NE(outcome.err.find(said), std::string::npos) << outcome.err;
  }
}

TEST_F(Tournament, TermsTakeNoPitch) {
  const Outcome round = run_thresher({"round", "--backend", "cpu", "--suite", suite_, "--threads",
                                      "1", "--seconds", "2", "--ledger", ledger_, "--terms",
                                      "speedup=1.05", "spread=0.25", pitch_, "--json"});
  ASSERT_EQ(round.exit_code, kExitOk) << round.err;
  const Outcome shown =
      run_thresher({"ledger", "show", "--kind", "season", "--json", "--ledger", ledger_});
  EXPECT_NE(shown.out.find("\"speedup_min\":1.05"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("\"spread_max\":0.25"), std::string::npos) << shown.out;
}

TEST_F(Tournament, MoreTimeIsForASeasonThatThereIs) {
  const Outcome outcome =
      run_thresher({"season", "--backend", "cpu", "--more", "5", "--ledger", ledger_});
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_NE(outcome.err.find("no season has been played yet"), std::string::npos) << outcome.err;
}

TEST_F(Tournament, AMatchNamesTheCheckThatDecided) {
  const std::string source = folder_.path("broken.c");
  const Outcome table = match({"--challenger", source});
  EXPECT_EQ(table.exit_code, kExitFailure) << table.err;
  EXPECT_NE(table.out.find("verdict     invalid"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("decided by  build"), std::string::npos) << table.out;

  const Outcome outcome = match({"--challenger", source, "--json"});
  EXPECT_EQ(outcome.exit_code, kExitFailure);
  const nlohmann::json record = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(record["verdict"]["kind"], "invalid");
  EXPECT_EQ(record["verdict"]["check"], "build");
  EXPECT_EQ(record["terms"]["speedup_min"], 1.01);
}

TEST_F(Tournament, AMatchNeedsAChallenger) {
  const Outcome outcome = match({});
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_NE(outcome.err.find("--challenger"), std::string::npos) << outcome.err;
}

TEST_F(Tournament, AMatchGoesOnOnlyAsItself) {
  const Outcome nowhere = match({"--challenger", "cpu_portable", "--go-on", "/nowhere.json"});
  EXPECT_EQ(nowhere.exit_code, kExitUsage);
  EXPECT_NE(nowhere.err.find("cannot read /nowhere.json"), std::string::npos) << nowhere.err;
  const Outcome foreign = match({"--challenger", "cpu_portable", "--go-on", suite_});
  EXPECT_EQ(foreign.exit_code, kExitUsage);
  EXPECT_NE(foreign.err.find("is not what 'thresher match --record' writes"), std::string::npos);
  const std::string record = folder_.path("match.json");
  match({"--challenger", "cpu_portable", "--record", record});
  const Outcome other = match({"--challenger", "cpu_portable:stages=8", "--go-on", record});
  EXPECT_EQ(other.exit_code, kExitUsage);
  EXPECT_NE(other.err.find("its challenger_hash is another"), std::string::npos) << other.err;
}

// Identical code, and a confidence that no five heats can have: whoever wants to know more is told
// how.
TEST_F(Tournament, AnUnclearMatchNamesTheCommandThatGoesOn) {
  const std::string record = folder_.path("my match.json");
  const auto play = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"match",
                                      "--backend",
                                      "cpu",
                                      "--suite",
                                      suite_,
                                      "--champion",
                                      "cpu_portable",
                                      "--challenger",
                                      "cpu_portable",
                                      "--seconds",
                                      "60",
                                      "--threads",
                                      "1",
                                      "--heats-max",
                                      "5",
                                      "--terms",
                                      "confidence=0.9999"};
    words.insert(words.end(), more.begin(), more.end());
    return run_thresher(words);
  };
  const Outcome kept = play({"--record", record});
  if (kept.out.find("verdict       unclear") == std::string::npos) {
    GTEST_SKIP() << "the machine is so noisy that five heats decided: " << kept.out << kept.err;
  }
  EXPECT_NE(kept.out.find("match --champion cpu_portable"), std::string::npos) << kept.out;
  EXPECT_NE(kept.out.find("--more "), std::string::npos) << kept.out;
  const nlohmann::json read = nlohmann::json::parse(folder_.read("my match.json"));
  const Outcome second = play({"--go-on", record, "--more", "1", "--json"});
  EXPECT_EQ(nlohmann::json::parse(second.out)["earlier_heats"], read["samples"]["rounds"].size());
  const Outcome lost = play({});
  if (lost.out.find("verdict       unclear") == std::string::npos) return;
  EXPECT_NE(lost.out.find("goes on with  nothing: only --record FILE keeps a match"),
            std::string::npos)
      << lost.out;
}

TEST_F(Tournament, ARecordThatCannotBeWrittenIsNoMatch) {
  const Outcome outcome =
      match({"--challenger", "cpu_portable", "--record", folder_.path("nowhere/match.json")});
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_NE(outcome.err.find("--record: cannot write"), std::string::npos) << outcome.err;
}

TEST_F(Tournament, ASelftestWantsGainsThatAreNumbers) {
  const Outcome outcome = run_thresher({"referee", "selftest", "--gain", "much"});
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_NE(outcome.err.find("'much' is not a share"), std::string::npos) << outcome.err;
}

// By a margin that no machine hides: the challenger takes twice as long.
TEST_F(Tournament, ASelftestInjectsRegressions) {
  const Outcome outcome =
      run_thresher({"referee", "selftest", "--suite", suite_, "--threads", "1", "--matches", "1",
                    "--gain-matches", "1", "--gain", "-1", "--seconds", "5", "--json"});
  const nlohmann::json report = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(report["gains"].size(), 1u) << outcome.err;
  EXPECT_EQ(report["gains"][0]["gain"], -1);
  EXPECT_EQ(report["gains"][0]["accepted"], 0);
  EXPECT_LT(report["gains"][0]["mean_speedup"], 0.75);
}

TEST_F(Tournament, ASelftestCountsItsMatches) {
  const Outcome outcome =
      run_thresher({"referee", "selftest", "--suite", suite_, "--threads", "1", "--matches", "1",
                    "--gain-matches", "0", "--seconds", "1", "--json"});
  const nlohmann::json report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["same"]["matches"], 1);
  EXPECT_EQ(report["gained"]["matches"], 0);
  EXPECT_EQ(report["same"]["accepted"], 0);
}

}  // namespace
}  // namespace thresher::cli
