// SPDX-License-Identifier: Apache-2.0
// Ledgers that were cut or emptied with all their guards taken down and put back: every hash that
// is left is right, and only what was noted outside the file tells.
#include "tank/ledger/anchor.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tank/ledger/ledger.hpp"
#include "tank/raw_sqlite.hpp"
#include "tank/scratch_folder.hpp"

namespace thresher {
namespace {

using testing::raw_sql;
using testing::ScratchFolder;

void fill(const std::filesystem::path& path, int count) {
  Ledger ledger(path);
  for (int i = 0; i < count; ++i) ledger.append("s", "k", "measured", {{"n", i}});
}

// Deletes from `first` on, and leaves the guards as they were.
void cut(const std::filesystem::path& path, int first) {
  std::string sql;
  for (const char* name : {"entries_never_change", "entries_never_leave", "entries_only_follow"}) {
    sql += std::string("DROP TRIGGER ") + name + ";";
  }
  sql += "DELETE FROM entries WHERE id >= " + std::to_string(first) + ";";
  sql += "UPDATE sqlite_sequence SET seq = " + std::to_string(first - 1) + ";";
  sql +=
      "CREATE TRIGGER entries_never_change BEFORE UPDATE ON entries "
      "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;"
      "CREATE TRIGGER entries_never_leave BEFORE DELETE ON entries "
      "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;"
      "CREATE TRIGGER entries_only_follow BEFORE INSERT ON entries "
      "WHEN NEW.id <> (SELECT coalesce(max(id), 0) + 1 FROM entries) "
      "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;";
  EXPECT_EQ(raw_sql(path, sql), "ok");
}

TEST(Anchor, FollowsTheLedger) {
  const ScratchFolder folder;
  const std::filesystem::path path = folder / "ledger.db";
  EXPECT_FALSE(read_anchor(path));
  fill(path, 12);
  const LedgerAudit audit = Ledger(path).audit();
  EXPECT_TRUE(audit.ok) << audit.first_fault;
  EXPECT_EQ(audit.anchored_id, 12);
  EXPECT_EQ(read_anchor(path)->hash, Ledger(path).entries().back().hash);
  // It goes forward only: another process may have been faster.
  move_anchor(path, {3, std::string(64, 'a')});
  EXPECT_EQ(read_anchor(path)->id, 12);
}

TEST(Anchor, KnowsWhatWasCutOff) {
  const ScratchFolder folder;
  for (const int first : {1, 5, 9}) {
    const std::filesystem::path path = folder / ("ledger" + std::to_string(first)).c_str();
    fill(path, 9);
    cut(path, first);
    const LedgerAudit audit = Ledger(path).audit();
    EXPECT_FALSE(audit.ok) << first;
    EXPECT_EQ(audit.first_fault.find("entry 9 is missing: "), 0u) << audit.first_fault;
    // Nor does it help to fill it up again.
    fill(path, 12);
    EXPECT_NE(Ledger(path).audit().first_fault.find("is another than was written"),
              std::string::npos)
        << Ledger(path).audit().first_fault;
  }
}

// Ledgers from before there were anchors, and copies of the file alone.
TEST(Anchor, IsNotNeeded) {
  const ScratchFolder folder;
  const std::filesystem::path path = folder / "ledger.db";
  fill(path, 3);
  std::ofstream(anchor_path(path)) << "nonsense\n";
  EXPECT_TRUE(Ledger(path).audit().ok);
  EXPECT_EQ(Ledger(path).audit().anchored_id, 0);
  std::filesystem::remove(anchor_path(path));
  EXPECT_TRUE(Ledger(path).audit().ok);
  cut(path, 3);
  EXPECT_TRUE(Ledger(path).audit().ok) << "without an anchor there is nothing to know it by";
}

}  // namespace
}  // namespace thresher
