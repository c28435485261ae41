// SPDX-License-Identifier: Apache-2.0
// What is said to Slurm's commands, and how their answers are read. slurm_season.py talks to them.
#include "cluster/slurm.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace thresher::cluster {
namespace {

ArrayJob small_array() {
  return {.name = "thresher-s",
          .comment = "000004",
          .task_count = 6,
          .seconds_max = 20,
          .excluded_nodes = {"n1", "n3"},
          .command = {"/opt/it's/thresher", "task", "/shared/spool", "000004"},
          .folder = "/home/ada",
          .logs = "/shared/spool/logs"};
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

TEST(Slurm, AnArrayIsExclusiveLimitedAndNamed) {
  const std::vector<std::string> words =
      sbatch_words({.partition = "long", .gres = "gpu:h200:1", .jobs = 4}, small_array());
  for (const char* word :
       {"--parsable", "--job-name=thresher-s", "--comment=000004", "--array=0-5%4", "--exclusive",
        "--requeue", "--time=3", "--chdir=/home/ada", "--output=/shared/spool/logs/%A_%a.txt",
        "--partition=long", "--gres=gpu:h200:1", "--exclude=n1,n3"}) {
    EXPECT_TRUE(has(words, word)) << word;
  }
  EXPECT_EQ(batch_script(small_array()),
            "#!/bin/sh\necho \"on node $SLURMD_NODENAME\"\nexec '/opt/it'\\''s/thresher' 'task' "
            "'/shared/spool' '000004'\n");
}

TEST(Slurm, WhatWasNotAskedForIsNotSaid) {
  ArrayJob array = small_array();
  array.excluded_nodes.clear();
  for (const std::string& word : sbatch_words({}, array)) {
    for (const char* start : {"--partition", "--gres", "--exclude="}) {
      EXPECT_FALSE(word.starts_with(start)) << word;
    }
  }
}

TEST(Slurm, AQueueIsReadAndStrangeLinesAreNot) {
  const std::vector<QueuedTask> tasks = parse_queue(
      "12|0|RUNNING|n1|000004|None\n"
      "12|1|PENDING||000004|Resources (a|b)\n"
      "slurm_load_jobs error: something\n"
      "13|N/A|RUNNING|n2|000005|None\n"
      "14|2-7|PENDING||000005|None\n");
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0].job, "12_0");
  EXPECT_EQ(tasks[0].node, "n1");
  EXPECT_EQ(tasks[1].index, 1);
  EXPECT_EQ(tasks[1].comment, "000004");
  EXPECT_EQ(tasks[1].reason, "Resources (a|b)");
}

TEST(Slurm, ATaskThatIsHeldOrPutOffAfterARequeueIsNotWaitedFor) {
  EXPECT_TRUE(waits_in_vain({.state = "PENDING", .reason = "launch failed requeued held"}));
  EXPECT_TRUE(waits_in_vain({.state = "PENDING", .reason = "BeginTime"}));
  EXPECT_TRUE(waits_in_vain({.state = "SPECIAL_EXIT"}));
  EXPECT_FALSE(waits_in_vain({.state = "PENDING", .reason = "Resources"}));
  EXPECT_FALSE(waits_in_vain({.state = "RUNNING", .node = "n1", .reason = "None"}));
}

}  // namespace
}  // namespace thresher::cluster
