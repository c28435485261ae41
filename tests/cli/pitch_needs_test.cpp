// SPDX-License-Identifier: Apache-2.0
#include "cli/pitch_needs.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "child.hpp"

namespace thresher::cli {
namespace {

Pitch pitch_with(const std::string& needs) {
  Pitch pitch;
  pitch.needs = needs;
  return pitch;
}

TEST(PitchNeeds, NamesWhatIsMissing) {
  EXPECT_EQ(missing_need(pitch_with("")), "");
  EXPECT_EQ(missing_need(pitch_with("sh")), "");
  EXPECT_EQ(missing_need(pitch_with("sh no_such_program_here")),
            "there is no program 'no_such_program_here'");
  EXPECT_EQ(missing_need(pitch_with("python:sys")), "");
  EXPECT_EQ(missing_need(pitch_with("python:no_such_package")),
            "python3 has no package 'no_such_package'");
}

TEST(PitchNeeds, APackageIsAskedOfTheCommandsOwnPython) {
  Pitch pitch = pitch_with("python:sys");
  pitch.contestant.command = {"pyhton3", "mine.py"};
  EXPECT_EQ(missing_need(pitch), "there is no program 'pyhton3'");
}

// A python3 that has every package, in a folder that only its owner may enter: under root
// contestants are somebody else and run the next one.
TEST(PitchNeeds, ThePythonThatContestantsRunIsAsked) {
  if (geteuid() != 0) GTEST_SKIP() << "only under root contestants are somebody else";
  const TemporaryFolder folder;
  std::filesystem::permissions(folder.write("python3", "#!/bin/sh\nexit 0\n"),
                               std::filesystem::perms{0700});
  const std::string path = std::getenv("PATH");
  setenv("PATH", (folder.path("") + ":" + path).c_str(), 1);
  EXPECT_EQ(missing_need(pitch_with("python:no_such_package")),
            "python3 has no package 'no_such_package'");
  setenv("PATH", path.c_str(), 1);
}

TEST(PitchNeeds, APythonOfThePitchsFolderIsAskedThere) {
  const TemporaryFolder folder;
  std::filesystem::permissions(folder.write("python", "#!/bin/sh\nexit 0\n"),
                               std::filesystem::perms{0755});
  Pitch pitch = pitch_with("python:a_package_of_its_own");
  pitch.contestant.command = {"./python", "mine.py"};
  pitch.contestant.folder = folder.path("");
  EXPECT_EQ(missing_need(pitch), "");
}

TEST(PitchNeeds, ASourceNeedsItsCompiler) {
  Pitch pitch;
  pitch.contestant.kind = ContestantKind::kLibrary;
  pitch.contestant.source = "mine.c";
  EXPECT_EQ(missing_need(pitch), "");
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  EXPECT_EQ(missing_need(pitch), "there is no compiler 'cc'");
  pitch.contestant.source = "mine.so";
  EXPECT_EQ(missing_need(pitch), "");
  setenv("PATH", path.c_str(), 1);
}

}  // namespace
}  // namespace thresher::cli
