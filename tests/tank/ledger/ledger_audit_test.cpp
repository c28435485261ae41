// SPDX-License-Identifier: Apache-2.0
// Somebody drops the triggers and rewrites history. The audit finds it.
#include <gtest/gtest.h>

#include "nvfp4/error_message.hpp"
#include "tank/ledger/ledger.hpp"
#include "tank/raw_sqlite.hpp"
#include "tank/scratch_folder.hpp"

namespace thresher {
namespace {

using testing::kDropGuards;
using testing::raw_sql;
using testing::ScratchFolder;

// What the audit of ten entries says after `statements`.
std::string fault_after(const std::string& statements) {
  const ScratchFolder folder;
  {
    Ledger ledger(folder / "ledger.db");
    for (int i = 1; i <= 10; ++i) {
      ledger.append("s", i % 2 == 0 ? "match" : "pitch", "measured", {{"n", i}, {"x", i / 3.0}});
    }
  }
  EXPECT_EQ(raw_sql(folder / "ledger.db", kDropGuards + statements), "ok");
  const LedgerAudit audit = Ledger(folder / "ledger.db").audit();
  EXPECT_EQ(audit.ok, audit.first_fault.empty());
  return audit.first_fault;
}

TEST(LedgerAudit, FindsEveryChangedField) {
  for (const char* change :
       {"time_utc = '2026-04-01T00:00:00.000Z'", "season = 'other'", "kind = 'verdict'",
        "source = 'reported'", "hash = upper(hash)", "previous_hash = hash",
        "data = '{\"n\":5,\"x\":1.6666666666666668}'", "data = data || ' '", "data = ''",
        "data = '[' || data", "season = CAST(x'ff' AS TEXT)"}) {
    const std::string fault =
        fault_after(std::string("UPDATE entries SET ") + change + " WHERE id = 5;");
    EXPECT_TRUE(fault.starts_with("entry 5: ")) << change << " gives: " << fault;
  }
}

TEST(LedgerAudit, FindsAForgedEntryByItsNeighbour) {
  // Entry 5 rewritten with a hash of its own: entry 6 still carries the old one.
  const ScratchFolder folder;
  {
    Ledger ledger(folder / "ledger.db");
    for (int i = 1; i <= 10; ++i) ledger.append("s", "match", "measured", {{"n", i}});
  }
  LedgerEntry forged = Ledger(folder / "ledger.db").entries().at(4);
  forged.data = {{"n", 500}};
  raw_sql(folder / "ledger.db", std::string(kDropGuards) +
                                    "UPDATE entries SET data = '{\"n\":500}', hash = '" +
                                    entry_hash(forged) + "' WHERE id = 5");
  EXPECT_EQ(Ledger(folder / "ledger.db").audit().first_fault,
            "entry 6: does not carry the hash of entry 5");
}

TEST(LedgerAudit, FindsMissingEntries) {
  EXPECT_EQ(fault_after("DELETE FROM entries WHERE id = 1;"),
            "entry 1 is missing: entry 2 follows entry 0");
  EXPECT_EQ(fault_after("DELETE FROM entries WHERE id = 5;"),
            "entry 5 is missing: entry 6 follows entry 4");
  EXPECT_EQ(fault_after("DELETE FROM entries WHERE id > 7;"),
            "entry 8 is missing: 10 were written");
  EXPECT_EQ(fault_after("DELETE FROM entries;"), "entry 1 is missing: 10 were written");
  // Closing the gap by renumbering does not help either.
  EXPECT_EQ(fault_after("DELETE FROM entries WHERE id = 10; UPDATE entries SET id = id + 100;"
                        "UPDATE entries SET id = id - 99;"),
            "entry 1 is missing: entry 2 follows entry 0");
  EXPECT_EQ(fault_after("DELETE FROM entries WHERE id = 5;"
                        "UPDATE entries SET id = id - 1 WHERE id > 5;"),
            "entry 5: hash does not match its contents");
}

TEST(LedgerAudit, FindsReorderedEntries) {
  EXPECT_EQ(fault_after("UPDATE entries SET id = 99 WHERE id = 4;"
                        "UPDATE entries SET id = 4 WHERE id = 5;"
                        "UPDATE entries SET id = 5 WHERE id = 99;"),
            "entry 4: hash does not match its contents");
}

TEST(LedgerAudit, FindsAddedEntries) {
  EXPECT_EQ(
      fault_after("INSERT INTO entries SELECT 11, time_utc, season, kind, source, hash, hash, "
                  "data FROM entries WHERE id = 10;"),
      "entry 11: hash does not match its contents");
  EXPECT_EQ(
      fault_after("INSERT INTO entries SELECT -3, time_utc, season, kind, source, hash, hash, "
                  "data FROM entries WHERE id = 10;"),
      "entry 1 is missing: entry -3 follows entry 0");
}

TEST(LedgerAudit, SurvivesTheLargestId) {
  const ScratchFolder folder;
  Ledger(folder / "ledger.db").append("s", "k", "measured", {{"n", 1}});
  ASSERT_EQ(raw_sql(folder / "ledger.db",
                    std::string(kDropGuards) + "UPDATE entries SET id = 9223372036854775807"),
            "ok");
  Ledger ledger(folder / "ledger.db");
  EXPECT_EQ(ledger.audit().first_fault,
            "entry 1 is missing: entry 9223372036854775807 follows entry 0");
  EXPECT_EQ(nvfp4::error_message([&] {
              ledger.append("s", "k", "measured", {{"n", 2}});
            }),
            "cannot record the 'k' entry: the last id is taken");
}

TEST(LedgerAudit, FindsDroppedOrWeakenedGuards) {
  EXPECT_EQ(fault_after(""), "the ledger's guard 'entries_never_change' was changed");
  EXPECT_EQ(fault_after("CREATE TRIGGER entries_never_change BEFORE UPDATE ON entries "
                        "BEGIN SELECT 1; END;"),
            "the ledger's guard 'entries_never_change' was changed");
}

TEST(LedgerAudit, FindsAMissingTable) {
  const std::string fault = fault_after("DROP TABLE entries;");
  EXPECT_NE(fault.find("it was changed by another program (no such table: entries)"),
            std::string::npos)
      << fault;
}

TEST(LedgerAudit, PassesAnEmptyLedger) {
  const ScratchFolder folder;
  const LedgerAudit audit = Ledger(folder / "ledger.db").audit();
  EXPECT_TRUE(audit.ok) << audit.first_fault;
  EXPECT_EQ(audit.entry_count, 0);
}

TEST(LedgerAudit, SeesOneStateWhileOthersAppend) {
  const ScratchFolder folder;
  Ledger writer(folder / "ledger.db");
  const Ledger reader(folder / "ledger.db");
  for (int i = 0; i < 50; ++i) {
    writer.append("s", "k", "measured", {{"n", i}});
    const LedgerAudit audit = reader.audit();
    ASSERT_TRUE(audit.ok) << audit.first_fault;
    ASSERT_EQ(audit.entry_count, i + 1);
  }
}

}  // namespace
}  // namespace thresher
