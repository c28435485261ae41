// SPDX-License-Identifier: Apache-2.0
#include "tank/ledger/sqlite.hpp"

#include <gtest/gtest.h>

#include "nvfp4/error_message.hpp"
#include "tank/scratch_folder.hpp"

namespace thresher::sqlite {
namespace {

using namespace std::chrono_literals;
using testing::ScratchFolder;

TEST(Sqlite, WaitsForALockAndThenSaysSo) {
  const ScratchFolder folder;
  const Database first(folder / "x.db", 0ms);
  const Database second(folder / "x.db", 50ms);
  const Transaction lock(first, Transaction::Kind::kWrite);
  const auto start = std::chrono::steady_clock::now();
  try {
    const Transaction refused(second, Transaction::Kind::kWrite);
    FAIL() << "two processes write at once";
  } catch (const Failure& failure) {
    EXPECT_TRUE(failure.is_busy());
    EXPECT_FALSE(failure.is_damage());
    EXPECT_EQ(std::string(failure.what()),
              "ledger '" + (folder / "x.db").string() +
                  "': another process keeps it locked; wait until that has finished, then try "
                  "again");
  }
  EXPECT_GE(std::chrono::steady_clock::now() - start, 40ms);
}

TEST(Sqlite, TakesBackWhatWasNotCommitted) {
  const ScratchFolder folder;
  const Database database(folder / "x.db", 0ms);
  database.execute("CREATE TABLE t(a)");
  {
    const Transaction dropped(database, Transaction::Kind::kWrite);
    database.execute("INSERT INTO t VALUES (1)");
  }
  EXPECT_EQ(database.query_integer("SELECT count(*) FROM t"), 0);
  {
    Transaction kept(database, Transaction::Kind::kWrite);
    database.execute("INSERT INTO t VALUES (2)");
    kept.commit();
  }
  EXPECT_EQ(database.query_integer("SELECT a FROM t"), 2);
}

TEST(Sqlite, BindsTextWithZerosAndEmptyText) {
  const ScratchFolder folder;
  const Database database(folder / "x.db", 0ms);
  const std::string text("a\0b", 3);
  Statement statement(database, "SELECT ?, ?, ?, ? IS NULL");
  statement.bind(text).bind(std::int64_t{-5}).bind("").bind(std::string_view());
  ASSERT_TRUE(statement.step());
  EXPECT_EQ(statement.text(0), text);
  EXPECT_EQ(statement.integer(1), -5);
  EXPECT_EQ(statement.text(2), "");
  EXPECT_EQ(statement.integer(3), 0);
  EXPECT_FALSE(statement.step());
}

TEST(Sqlite, TellsAForeignSchemaFromABusyFile) {
  const ScratchFolder folder;
  const Database database(folder / "x.db", 0ms);
  try {
    database.execute("SELECT * FROM nowhere");
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_TRUE(failure.is_damage());
    EXPECT_FALSE(failure.is_busy());
  }
}

}  // namespace
}  // namespace thresher::sqlite
