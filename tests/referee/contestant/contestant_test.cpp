// SPDX-License-Identifier: Apache-2.0
#include "referee/contestant/contestant.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "referee/contestant/build.hpp"
#include "referee/quick_match.hpp"
#include "referee/sandbox/scratch.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

using referee::FolderOwner;
using referee::ScratchFolder;

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

TEST(ContestantHash, TellsVariantsApart) {
  const Contestant a{.name = "a", .variant = "cpu_avx2"};
  const Contestant b{.name = "a", .variant = "cpu_avx2:stages=4"};
  EXPECT_EQ(contestant_hash(a), contestant_hash(a));
  EXPECT_NE(contestant_hash(a), contestant_hash(b));
  EXPECT_EQ(contestant_hash(a).size(), 64u);
}

TEST(ContestantHash, FollowsTheSourceAndNotTheName) {
  const ScratchFolder folder(FolderOwner::kReferee);
  write(folder.path() / "k.c", "int a;");
  Contestant contestant{
      .kind = ContestantKind::kLibrary, .name = "one", .source = "k.c", .folder = folder.path()};
  const std::string before = contestant_hash(contestant);
  contestant.name = "two";
  EXPECT_EQ(before, contestant_hash(contestant));
  write(folder.path() / "k.c", "int b;");
  EXPECT_NE(before, contestant_hash(contestant));
}

TEST(ContestantHash, FollowsTheFilesACommandNames) {
  const ScratchFolder folder(FolderOwner::kReferee);
  write(folder.path() / "k.py", "1");
  Contestant contestant{.kind = ContestantKind::kCommand,
                        .name = "one",
                        .command = {"python3", "k.py"},
                        .folder = folder.path()};
  const std::string before = contestant_hash(contestant);
  write(folder.path() / "k.py", "2");
  const std::string changed = contestant_hash(contestant);
  EXPECT_NE(before, changed);
  contestant.command.push_back("--fast");
  EXPECT_NE(changed, contestant_hash(contestant));
}

TEST(ContestantHash, FollowsLaunchesAndBackend) {
  const ScratchFolder folder(FolderOwner::kReferee);
  write(folder.path() / "k.cu", "1");
  Contestant contestant{
      .kind = ContestantKind::kCuda, .name = "one", .source = "k.cu", .folder = folder.path()};
  const std::string before = contestant_hash(contestant);
  contestant.launches.launches = {{.kernel = "gemm", .grid = {"n"}, .block = {"32"}}};
  EXPECT_NE(before, contestant_hash(contestant));
  Contestant command{.kind = ContestantKind::kCommand, .command = {"x"}};
  const std::string on_cpu = contestant_hash(command);
  command.backend = "gpu";
  EXPECT_NE(on_cpu, contestant_hash(command));
}

TEST(ContestantBackend, IsWhatItsKindSays) {
  EXPECT_EQ(backend_of({.variant = "cpu_avx2"}).name, "cpu");
  EXPECT_EQ(backend_of({.variant = "gpu_sm90:graph=on"}).name, "gpu");
  EXPECT_EQ(backend_of({.variant = ""}).name, "cpu");
  EXPECT_EQ(backend_of({.variant = "", .backend = "gpu"}).name, "gpu");
  EXPECT_EQ(backend_of({.kind = ContestantKind::kCuda}).name, "gpu");
  EXPECT_EQ(backend_of({.kind = ContestantKind::kCommand, .backend = "gpu"}).name, "gpu");
}

TEST(ContestantHash, WordsCannotBeMergedUnnoticed) {
  const Contestant a{.kind = ContestantKind::kCommand, .command = {"ab", "c"}};
  const Contestant b{.kind = ContestantKind::kCommand, .command = {"a", "bc"}};
  EXPECT_NE(contestant_hash(a), contestant_hash(b));
}

TEST(ContestantHash, NamesTheFileItCannotRead) {
  const Contestant contestant{.kind = ContestantKind::kLibrary, .source = "/nowhere/k.c"};
  try {
    contestant_hash(contestant);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "cannot read /nowhere/k.c");
  }
}

TEST(CompilerMessages, ComeAsLinesWithTheSourcesOwnPath) {
  const ScratchFolder folder(FolderOwner::kReferee);
  const std::string path = (folder.path() / "k.c").string();
  write(path, "#include \"thresher/contestant.h\"\nint broken(void) { return tile; }\n");
  const Verdict verdict = check_contestant(
      {.kind = ContestantKind::kLibrary, .name = "k", .source = "k.c", .folder = folder.path()},
      testing::tiny_suite(), testing::quick_options());
  EXPECT_EQ(verdict.check, "build");
  EXPECT_TRUE(verdict.reason.starts_with(path + " does not compile:\n")) << verdict.reason;
  EXPECT_NE(verdict.reason.find("\n" + path + ":2:"), std::string::npos) << verdict.reason;
  EXPECT_EQ(verdict.reason.find('?'), std::string::npos) << "a letter was lost: " << verdict.reason;
  EXPECT_NE(verdict.reason.find("tile"), std::string::npos) << verdict.reason;
}

TEST(CompilerMessages, NameNoFolderOfTheReferee) {
  const referee::SourceNames names{
      .shown = "mine/k.c",
      .replaced = {{"/tmp/thresher-a/k.c", "mine/k.c"}, {"/tmp/thresher-a/", ""}}};
  EXPECT_EQ(referee::compiler_lines("/tmp/thresher-a/k.c:3:1: error: \xe2\x80\x98x\xe2\x80\x99\n"
                                    "ld: /tmp/thresher-a/cc1.o: no main, see /tmp/thresher-a/k.c\n",
                                    names),
            "mine/k.c:3:1: error: \xe2\x80\x98x\xe2\x80\x99\nld: cc1.o: no main, see mine/k.c");
  std::string many;
  for (int i = 0; i < 100; ++i) many += "error\n";
  EXPECT_TRUE(referee::compiler_lines(many, names).ends_with("error\n..."));
}

}  // namespace
}  // namespace thresher
