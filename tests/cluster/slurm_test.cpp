// SPDX-License-Identifier: Apache-2.0
// What is said to Slurm's commands, and how their answers are read. slurm_season.py talks to them.
#include "cluster/slurm.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

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

// Programs of that name on the PATH, and nothing else: each does what the script says.
std::vector<SlurmFinding> findings_with(const std::string& script) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("thresher_path_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  for (const char* name : {"sbatch", "squeue", "scancel", "scontrol", "sinfo", "munge"}) {
    if (script.empty() && std::string(name) == "munge") continue;
    const std::filesystem::path path = folder / name;
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  const std::string before = std::getenv("PATH");
  setenv("PATH", folder.c_str(), 1);
  const std::vector<SlurmFinding> findings = examine_slurm({});
  setenv("PATH", before.c_str(), 1);
  std::filesystem::remove_all(folder);
  return findings;
}

// As Debian's packages are before anybody has written a slurm.conf.
TEST(Slurm, ProgramsThatAreNotConfiguredAreFoundAndTheControllerIsNot) {
  const std::vector<SlurmFinding> findings =
      findings_with("echo 'fatal: Could not establish a configuration source' >&2; exit 1");
  ASSERT_EQ(findings.size(), 8U) << "nothing is asked of a controller that is not there";
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_TRUE(findings[i].ok);
    EXPECT_EQ(findings[i].text, "found") << findings[i].what;
  }
  EXPECT_EQ(findings[7].what, "controller");
  EXPECT_FALSE(findings[7].ok);
  EXPECT_NE(findings[7].text.find("Could not establish a configuration source"), std::string::npos)
      << findings[7].text;
}

TEST(Slurm, ProgramsThatAreMissingAreNamedWithTheirPackage) {
  const std::vector<SlurmFinding> findings = findings_with("");
  ASSERT_EQ(findings.size(), 6U);
  EXPECT_EQ(findings[0].text, "found");
  EXPECT_EQ(findings[5].what, "munge");
  EXPECT_EQ(findings[5].text, "missing; Debian has it in munge");
}

}  // namespace
}  // namespace thresher::cluster
