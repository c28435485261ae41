// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/partial_folder.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include "checkpoint/sample.hpp"

namespace thresher::checkpoint {
namespace {

TEST(PartialFolder, GetsItsNameWhenItIsWhole) {
  const Folder parent;
  {
    PartialFolder folder(parent.path() / "out");
    NewFile file(folder.path() / "f");
    file.write("text");
    file.close();
    EXPECT_FALSE(std::filesystem::exists(parent.path() / "out"));
    folder.finish();
  }
  EXPECT_EQ(std::filesystem::file_size(parent.path() / "out" / "f"), 4u);
}

TEST(PartialFolder, IsGoneWhenItIsNotFinished) {
  const Folder parent;
  { const PartialFolder folder(parent.path() / "out/"); }
  EXPECT_TRUE(std::filesystem::is_empty(parent.path()));
}

// Somebody who was killed leaves a folder of another name, which the next one takes away; that of
// somebody who lives stays.
TEST(PartialFolder, AKilledOneLeavesNoHalfUnderTheFinalName) {
  const Folder parent;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const PartialFolder folder(parent.path() / "out");
    NewFile(folder.path() / "half").write("ha");
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(std::filesystem::exists(parent.path() / "out"));
  EXPECT_FALSE(std::filesystem::is_empty(parent.path()));
  const std::string living = ".out.partial-" + std::to_string(getppid());
  std::filesystem::create_directory(parent.path() / living);
  PartialFolder folder(parent.path() / "out");
  folder.finish();
  EXPECT_TRUE(std::filesystem::exists(parent.path() / "out"));
  EXPECT_TRUE(std::filesystem::exists(parent.path() / living));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(parent.path()), {}), 2);
}

TEST(PartialFolder, AFileIsMadeOnce) {
  const Folder parent;
  NewFile(parent.path() / "f").close();
  EXPECT_NE(complaint([&] { NewFile again(parent.path() / "f"); }).find("cannot make it"),
            std::string::npos);
}

}  // namespace
}  // namespace thresher::checkpoint
