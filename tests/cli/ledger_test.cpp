// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "child.hpp"
#include "tank/ledger/ledger.hpp"
#include "tank/raw_sqlite.hpp"
#include "tank/scratch_folder.hpp"

namespace thresher::cli {
namespace {

using nlohmann::json;
using testing::ScratchFolder;

Outcome thresher_ledger(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "ledger");
  return run_here(std::move(arguments));
}

class LedgerCommand : public ::testing::Test {
 protected:
  LedgerCommand() {
    Ledger ledger(path_);
    ledger.append("seeds", "pitch", "reported", {{"name", "stages"}, {"claim", 1.5}});
    ledger.append("spring", "pitch", "measured", {{"name", "tile\x1b[31m"}, {"log", {"a", "b"}}});
    last_hash_ = ledger.append("spring", "verdict", "measured", {{"kind", "accepted"}}).hash;
  }

  ScratchFolder folder_;
  const std::string path_ = (folder_ / "ledger.db").string();
  std::string last_hash_;
};

TEST_F(LedgerCommand, VerifyProvesTheChain) {
  const Outcome outcome = thresher_ledger({"verify", "--ledger", path_});
  EXPECT_EQ(outcome.exit_code, kExitOk) << outcome.err;
  EXPECT_EQ(outcome.out,
            path_ +
                ": 3 entries, none changed, none missing\nits anchor vouches for the first 3\nlast "
                "hash " +
                last_hash_ + "\n");
  const json object = json::parse(thresher_ledger({"verify", "--ledger", path_, "--json"}).out);
  EXPECT_EQ(object, json({{"ledger", path_},
                          {"ok", true},
                          {"entry_count", 3},
                          {"first_fault", ""},
                          {"anchored_entry", 3},
                          {"expected_entry", 0},
                          {"last_hash", last_hash_}}));
}

TEST_F(LedgerCommand, VerifyFailsOnAChange) {
  testing::raw_sql(path_, std::string(testing::kDropGuards) +
                              "UPDATE entries SET source = 'measured' WHERE id = 1");
  const Outcome outcome = thresher_ledger({"verify", "--ledger", path_});
  EXPECT_EQ(outcome.exit_code, kExitFailure);
  EXPECT_EQ(outcome.out, path_ + ": entry 1: hash does not match its contents\n");
  const Outcome machine = thresher_ledger({"verify", "--ledger", path_, "--json"});
  EXPECT_EQ(machine.exit_code, kExitFailure);
  EXPECT_EQ(json::parse(machine.out).at("ok"), false);
}

TEST_F(LedgerCommand, VerifyKnowsWhatWasExpected) {
  for (const std::string& hash : {last_hash_, last_hash_.substr(0, 12)}) {
    const Outcome outcome = thresher_ledger({"verify", "--ledger", path_, "--expect", hash});
    EXPECT_EQ(outcome.exit_code, kExitOk) << outcome.out;
    EXPECT_NE(outcome.out.find("the expected hash is that of entry 3\n"), std::string::npos);
  }
  const std::string other(64, 'a');
  const Outcome outcome = thresher_ledger({"verify", "--ledger", path_, "--expect", other});
  EXPECT_EQ(outcome.exit_code, kExitFailure);
  EXPECT_NE(outcome.out.find("no entry has the expected hash " + other), std::string::npos);
  for (const char* wrong : {"abc", "not a hash at all"}) {
    EXPECT_EQ(thresher_ledger({"verify", "--ledger", path_, "--expect", wrong}).exit_code,
              kExitUsage);
  }
}

TEST_F(LedgerCommand, VerifyMissesWhatWasCutOff) {
  testing::raw_sql(path_, std::string(testing::kDropGuards) +
                              "DELETE FROM entries; UPDATE sqlite_sequence SET seq = 0");
  const Outcome outcome = thresher_ledger({"verify", "--ledger", path_});
  EXPECT_EQ(outcome.exit_code, kExitFailure);
  EXPECT_NE(outcome.out.find("entry 3 is missing: '" + path_ + ".anchor' knows it"),
            std::string::npos)
      << outcome.out;
}

TEST_F(LedgerCommand, ShowListsEntries) {
  const Outcome all = thresher_ledger({"show", "--ledger", path_});
  EXPECT_EQ(all.exit_code, kExitOk) << all.err;
  EXPECT_NE(all.out.find("claim=1.5 name=\"stages\""), std::string::npos) << all.out;
  EXPECT_EQ(all.out.find('\x1b'), std::string::npos) << "an entry must not drive the terminal";
  const Outcome some = thresher_ledger(
      {"show", "--ledger", path_, "--season", "spring", "--kind", "pitch", "--json"});
  const json object = json::parse(some.out);
  ASSERT_EQ(object.at("entries").size(), 1u);
  EXPECT_EQ(object.at("entries")[0].at("id"), 2);
}

TEST_F(LedgerCommand, ExportWritesAFile) {
  const std::string output = (folder_ / "export.jsonl").string();
  const Outcome outcome =
      thresher_ledger({"export", "--ledger", path_, "--season", "spring", "--output", output});
  EXPECT_EQ(outcome.exit_code, kExitOk) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  std::ifstream file(output);
  std::string line;
  std::vector<int> ids;
  while (std::getline(file, line)) ids.push_back(json::parse(line).at("id"));
  EXPECT_EQ(ids, (std::vector<int>{2, 3}));
}

TEST_F(LedgerCommand, ExportWritesT4ToStandardOutput) {
  const Outcome outcome = thresher_ledger({"export", "--ledger", path_, "--format", "t4"});
  EXPECT_EQ(outcome.exit_code, kExitOk) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out).at("schema_version"), "1.0.0");
  EXPECT_EQ(thresher_ledger({"export", "--ledger", path_, "--format", "xml"}).exit_code,
            kExitUsage);
}

TEST_F(LedgerCommand, ExportNeverOverwritesTheLedger) {
  const Outcome outcome = thresher_ledger({"export", "--ledger", path_, "--output", path_});
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_EQ(outcome.err,
            "thresher: '" + path_ + "' is the ledger itself; write the export to another file\n");
  EXPECT_TRUE(Ledger(path_).audit().ok);
  EXPECT_EQ(thresher_ledger({"export", "--ledger", path_, "--output", "/nowhere/x"}).exit_code,
            kExitFailure);
}

TEST_F(LedgerCommand, NamesTheSeasonsThereAre) {
  const Outcome outcome = thresher_ledger({"show", "--ledger", path_, "--season", "sprign"});
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_EQ(outcome.err,
            "thresher: ledger '" + path_ +
                "' has no season 'sprign'; it has: seeds, spring; did you mean 'spring'?\n");
}

TEST_F(LedgerCommand, MakesNoLedgerToLookAt) {
  const std::string missing = (folder_ / "missing.db").string();
  for (const char* action : {"verify", "show", "export"}) {
    const Outcome outcome = thresher_ledger({action, "--ledger", missing});
    EXPECT_EQ(outcome.exit_code, kExitFailure);
    EXPECT_EQ(outcome.err, "thresher: there is no ledger '" + missing +
                               "'; a round or a season makes it, or name another with --ledger\n");
  }
  EXPECT_FALSE(std::filesystem::exists(missing));
}

TEST_F(LedgerCommand, HelpNamesTheDefault) {
  const Outcome outcome = thresher_ledger({"verify", "--help"});
  EXPECT_EQ(outcome.exit_code, kExitOk);
  EXPECT_NE(outcome.out.find("out/ledger.db"), std::string::npos) << outcome.out;
}

TEST_F(LedgerCommand, NamesTheKindThatWasMeant) {
  const Outcome outcome = thresher_ledger({"show", "--ledger", path_, "--kind", "verdcit"});
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_NE(
      outcome.err.find("no entry is of kind 'verdcit'; there are pitch, verdict; did you mean "
                       "'verdict'?"),
      std::string::npos)
      << outcome.err;
  EXPECT_EQ(thresher_ledger({"show", "--ledger", path_, "--kind", "pitch"}).exit_code, kExitOk);
}

}  // namespace
}  // namespace thresher::cli
