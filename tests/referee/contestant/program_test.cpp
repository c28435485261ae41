// SPDX-License-Identifier: Apache-2.0
#include "referee/contestant/program.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "referee/quick_match.hpp"
#include "referee/sandbox/scratch.hpp"

namespace thresher::referee {
namespace {

class Programs : public ::testing::Test {
 protected:
  std::filesystem::path add(const ScratchFolder& folder, const char* name, mode_t mode,
                            const std::string& text = "x") {
    const std::filesystem::path file = folder.path() / name;
    std::ofstream(file) << text;
    chmod(file.c_str(), mode);
    return file;
  }

  std::string fault(std::vector<std::string> command) {
    return why_no_program({.kind = ContestantKind::kCommand,
                           .name = "one",
                           .command = std::move(command),
                           .folder = home_.path()},
                          path_.c_str());
  }

  const ScratchFolder first_{FolderOwner::kReferee};
  const ScratchFolder second_{FolderOwner::kReferee};
  const ScratchFolder home_{FolderOwner::kReferee};
  const std::string path_ = fmt::format(":{}:{}", first_.path().string(), second_.path().string());
};

TEST_F(Programs, AreTheFirstOnesThatRun) {
  add(first_, "python3", 0644);
  const std::string runs = add(second_, "python3", 0644);
  EXPECT_EQ(found_program("python3", path_.c_str()), "python3");
  chmod(runs.c_str(), 0755);
  EXPECT_EQ(found_program("python3", path_.c_str()), runs);
  EXPECT_EQ(found_program("./python3", path_.c_str()), "./python3");
  EXPECT_EQ(found_program("python3", nullptr), "python3");
  EXPECT_EQ(found_program("python3", ""), "python3");
}

TEST_F(Programs, OfTheOperatorsAreThoseThatHeMayRun) {
  const std::string closed = add(first_, "python3", 0644);
  const std::string runs = add(second_, "python3", 0700);
  EXPECT_EQ(operators_program("python3", path_.c_str()), runs);
  chmod(closed.c_str(), 0700);
  EXPECT_EQ(operators_program("python3", path_.c_str()), closed);
  EXPECT_EQ(operators_program("python4", path_.c_str()), "python4");
  EXPECT_EQ(operators_program("python3", nullptr), "python3");
}

TEST_F(Programs, ThatContestantsMayNotRunArePassedOver) {
  if (geteuid() != 0) GTEST_SKIP() << "only under root contestants are somebody else";
  const Contestant contestant{.kind = ContestantKind::kCommand, .command = {"python3"}};
  const std::string first = add(first_, "python3", 0755);
  const std::string second = add(second_, "python3", 0755);
  EXPECT_EQ(found_program("python3", path_.c_str()), first);
  EXPECT_EQ(passed_over_program(contestant, path_.c_str()), "");
  chmod(first_.path().c_str(), 0700);
  EXPECT_EQ(found_program("python3", path_.c_str()), second);
  EXPECT_EQ(passed_over_program(contestant, path_.c_str()),
            fmt::format("{} is passed over: under root contestants run as user 65534, who may not "
                        "run it; {} is taken",
                        first, second));
  chmod(first_.path().c_str(), 0755);
  std::filesystem::remove(first);
  std::filesystem::create_symlink("/root/python3", first);
  EXPECT_EQ(found_program("python3", path_.c_str()), second) << "the link's target counts";
}

TEST_F(Programs, ThatAreNowhereAreNamed) {
  add(second_, "python3", 0755);
  add(home_, "mine.py", 0644);
  EXPECT_EQ(fault({"python3", "mine.py"}), "");
  EXPECT_EQ(fault({"pyhton3", "mine.py"}),
            "program 'pyhton3' is not found in PATH; did you mean 'python3'?");
  EXPECT_EQ(fault({"ocamlrun"}), "program 'ocamlrun' is not found in PATH");
  EXPECT_EQ(fault({"python3", "mien.py"}),
            fmt::format("there is no file 'mien.py' in {}; did you mean 'mine.py'?",
                        home_.path().string()));
  EXPECT_EQ(fault({"./mine"}),
            fmt::format("there is no program './mine' in {}", home_.path().string()));
  EXPECT_NE(fault({"./mine.py"}).find("'./mine.py' is not executable"), std::string::npos);
  EXPECT_EQ(why_no_program({.variant = "cpu_avx2"}, path_.c_str()), "");
}

// The interpreter of an environment finds that environment by the name it is started by.
TEST_F(Programs, OfTheOperatorsPathAreStarted) {
  const std::string marker = "an interpreter of the environment";
  add(first_, "python3", 0755, fmt::format("#!/bin/sh\necho '{}: '\"$0\" >&2\n", marker));
  add(home_, "mine.py", 0644);
  const char* old_path = std::getenv("PATH");
  const std::string kept = old_path == nullptr ? "" : old_path;
  setenv("PATH", (first_.path().string() + ":" + kept).c_str(), 1);
  const Verdict verdict = check_contestant({.kind = ContestantKind::kCommand,
                                            .name = "one",
                                            .command = {"python3", "mine.py"},
                                            .folder = home_.path()},
                                           testing::tiny_suite(), testing::quick_options());
  setenv("PATH", kept.c_str(), 1);
  EXPECT_NE(verdict.reason.find(marker + ": " + first_.path().string() + "/python3"),
            std::string::npos)
      << verdict.reason;
}

TEST_F(Programs, ThatAreNowhereLoseByTheBuild) {
  const Verdict verdict = check_contestant({.kind = ContestantKind::kCommand,
                                            .name = "one",
                                            .command = {"no-such-program-anywhere"},
                                            .folder = home_.path()},
                                           testing::tiny_suite(), testing::quick_options());
  EXPECT_EQ(verdict.check, "build");
  EXPECT_EQ(verdict.reason, "program 'no-such-program-anywhere' is not found in PATH");
}

}  // namespace
}  // namespace thresher::referee
