// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "referee/contestant/build.hpp"
#include "referee/sandbox/scratch.hpp"

namespace thresher::referee {
namespace {

TEST(FoundProgram, IsTheFirstOneThatRuns) {
  const ScratchFolder first(FolderOwner::kReferee);
  const ScratchFolder second(FolderOwner::kReferee);
  const std::string path = ":" + first.path().string() + ":" + second.path().string();
  for (const ScratchFolder* folder : {&first, &second}) {
    std::ofstream(folder->path() / "python3") << "x";
  }
  EXPECT_EQ(found_program("python3", path.c_str()), "python3");
  chmod((second.path() / "python3").c_str(), 0755);
  EXPECT_EQ(found_program("python3", path.c_str()), (second.path() / "python3").string());
  EXPECT_EQ(found_program("./python3", path.c_str()), "./python3");
  EXPECT_EQ(found_program("python3", nullptr), "python3");
  EXPECT_EQ(found_program("python3", ""), "python3");
}

}  // namespace
}  // namespace thresher::referee
