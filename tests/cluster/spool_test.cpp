// SPDX-License-Identifier: Apache-2.0
#include "cluster/spool.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "nvfp4/error_message.hpp"
#include "tank/scratch_folder.hpp"

namespace thresher::cluster {
namespace {

using nvfp4::error_message;
using testing::ScratchFolder;

TEST(Spool, TheFirstRecordStays) {
  const ScratchFolder folder;
  const Spool spool(folder / "spool");
  EXPECT_FALSE(spool.record("a"));
  EXPECT_TRUE(spool.put_record("a", {{"node", "n1"}}));
  EXPECT_FALSE(spool.put_record("a", {{"node", "n2"}}));
  EXPECT_EQ(spool.record("a")->at("node"), "n1");
  EXPECT_EQ(spool.recorded_ids(), std::set<std::string>{"a"});
}

// What a task that was killed leaves lies beside the records under a name that is none of theirs.
TEST(Spool, HalfARecordIsNone) {
  const ScratchFolder folder;
  const Spool spool(folder / "spool");
  std::ofstream(folder / "spool/records/.a.json-n1-17") << "{\"verdict\":";
  EXPECT_TRUE(spool.recorded_ids().empty());
  EXPECT_FALSE(spool.has_record("a"));
  std::ofstream(folder / "spool/records/b.json") << "{\"verdict\":";
  EXPECT_FALSE(spool.record("b"));
  EXPECT_FALSE(spool.has_record("b")) << "it is out of the way";
  EXPECT_TRUE(spool.put_record("b", {{"node", "n1"}}));
}

TEST(Spool, ListsKnowTheirTasksAndTheirJob) {
  const ScratchFolder folder;
  const Spool spool(folder / "spool");
  const std::string first = spool.put_list({"a", "b"});
  const std::string second = spool.put_list({"b"});
  spool.set_job(second, "77");
  EXPECT_EQ(spool.id_of_task(first, 1), "b");
  EXPECT_NE(error_message([&] { spool.id_of_task(first, 2); }).find("has no task 2"),
            std::string::npos);
  const std::vector<ArrayList> lists = Spool(folder / "spool").lists();
  ASSERT_EQ(lists.size(), 2u);
  EXPECT_EQ(lists[0].job, "");
  EXPECT_EQ(lists[1].job, "77");
  EXPECT_EQ(lists[1].ids, std::vector<std::string>{"b"});
}

TEST(Spool, FailuresAreKeptApart) {
  const ScratchFolder folder;
  const Spool spool(folder / "spool");
  spool.put_failure("a", {"n1", "full"});
  spool.put_failure("a", {"n2", "gone"});
  spool.put_failure("ab", {"n3", "else"});
  spool.put_failure("ab", {"n4", "other", {"h200"}});
  const std::vector<TaskFailure> failures = spool.failures().at("a");
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[1].node, "n2");
  EXPECT_EQ(failures[1].text, "gone");
  EXPECT_TRUE(failures[1].refused_for.empty());
  EXPECT_EQ(spool.failures().at("ab")[1].refused_for, std::vector<std::string>{"h200"});
}

TEST(Spool, WhatIsForgottenWasNeverTried) {
  const ScratchFolder folder;
  const Spool spool(folder / "spool");
  spool.set_job(spool.put_list({"a", "b"}), "7");
  spool.put_record("a", {{"found", 1}});
  spool.put_record("b", {{"found", 2}});
  spool.put_failure("a", {"n1", "full"});
  spool.forget("a");
  EXPECT_EQ(spool.recorded_ids(), std::set<std::string>{"b"});
  EXPECT_TRUE(spool.failures().empty());
  EXPECT_EQ(spool.lists()[0].ids, (std::vector<std::string>{"", "b"}));
  EXPECT_EQ(spool.lists()[0].job, "7");
  EXPECT_NE(error_message([&] { spool.id_of_task("000000", 0); }).find("has no task 0"),
            std::string::npos);
}

TEST(Spool, OneCoordinatorIsEnough) {
  const ScratchFolder folder;
  const Spool spool(folder / "spool");
  const referee::UniqueFd held = spool.hold();
  const std::string message = error_message([&] { Spool(folder / "spool").hold(); });
  EXPECT_NE(message.find("is being played already, by pid"), std::string::npos) << message;
}

TEST(Spool, OrdersAndFoldersThatCannotBeReadAreSaid) {
  const ScratchFolder folder;
  const Spool spool(folder / "spool");
  EXPECT_NE(error_message([&] { spool.order("a"); }).find("a.json is no order"), std::string::npos);
  std::ofstream(folder / "file") << "";
  EXPECT_NE(error_message([&] { Spool(folder / "file/spool"); }).find("cannot be made"),
            std::string::npos);
}

}  // namespace
}  // namespace thresher::cluster
