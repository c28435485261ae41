// SPDX-License-Identifier: Apache-2.0
#include "referee/contestant/contestant.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <vector>

#include "digest/sha256.hpp"
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

// Beside the pitch it would be its author's; elsewhere the rights of who runs it decide.
TEST(ContestantSources, SayWhichFolderKeepsTheContestantOut) {
  if (geteuid() != 0) GTEST_SKIP() << "only under root contestants are somebody else";
  const ScratchFolder folder(FolderOwner::kReferee);
  const std::filesystem::path closed = folder.path() / "closed";
  std::filesystem::create_directories(closed);
  std::filesystem::create_directories(folder.path() / "pitch");
  std::filesystem::permissions(folder.path(), std::filesystem::perms{0755});
  std::filesystem::permissions(closed, std::filesystem::perms{0700});
  write(closed / "k.h", "int a;");
  write(folder.path() / "pitch/k.c", "#include \"../closed/k.h\"\n");
  const Contestant contestant{.kind = ContestantKind::kLibrary,
                              .name = "one",
                              .source = "k.c",
                              .folder = folder.path() / "pitch"};
  try {
    contestant_hash(contestant);
    FAIL() << "it was read";
  } catch (const Error& error) {
    const std::string said = error.what();
    EXPECT_NE(said.find("k.h: under root contestants run as user 65534, who may not enter " +
                        closed.string() + "; chmod o+x " + closed.string()),
              std::string::npos)
        << said;
  }
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

// A hash of what only the operator may read would be word of it in the ledger.
TEST(ContestantHash, OfACommandCoversWhatContestantsMayRead) {
  const ScratchFolder folder(FolderOwner::kReferee);
  write(folder.path() / "k.py", "1");
  std::filesystem::create_symlink("k.py", folder.path() / "link.py");
  const auto hash_with = [&](const std::string& word) {
    return contestant_hash(
        {.kind = ContestantKind::kCommand, .command = {"python3", word}, .folder = folder.path()});
  };
  const std::string by_link = hash_with("link.py");
  const std::string status = fmt::format("/proc/{}/status", getppid());
  const std::string made_up = hash_with(status);
  write(folder.path() / "k.py", "2");
  EXPECT_NE(by_link, hash_with("link.py")) << "an interpreter is often a link";
  EXPECT_EQ(made_up, sha256_hex(fmt::format("command\n7:python3\n{}:{}\n", status.size(), status)));
  if (geteuid() != 0) GTEST_SKIP() << "only root may read what contestants may not";
  write(folder.path() / "secret", "1");
  chmod((folder.path() / "secret").c_str(), 0600);
  std::filesystem::create_symlink("secret", folder.path() / "link");
  for (const char* word : {"secret", "link"}) {
    const std::string before = hash_with(word);
    write(folder.path() / "secret", before);
    EXPECT_EQ(hash_with(word), before) << word;
  }
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

Contestant source_in(const ScratchFolder& folder, const std::string& name) {
  return {.kind = ContestantKind::kLibrary, .name = "k", .source = name, .folder = folder.path()};
}

TEST(ContestantHash, FollowsAllThatIsIncluded) {
  const ScratchFolder folder(FolderOwner::kReferee);
  std::filesystem::create_directories(folder.path() / "inner");
  const auto fill = [&] {
    write(folder.path() / "k.c", "# include \"a.h\"\n#include \"inner/b.h\"\n");
    write(folder.path() / "a.h", "int a;");
    write(folder.path() / "inner/b.h", "#include \"c.inc\"\n#embed \"table.bin\"\n");
    write(folder.path() / "inner/c.inc", "int c;");
    write(folder.path() / "table.bin", "1");
  };
  fill();
  const Contestant contestant = source_in(folder, "k.c");
  const std::string before = contestant_hash(contestant);
  write(folder.path() / "unrelated.h", "int x;");
  EXPECT_EQ(contestant_hash(contestant), before);
  for (const char* name : {"k.c", "a.h", "inner/b.h", "inner/c.inc", "table.bin"}) {
    std::ofstream(folder.path() / name, std::ios::app) << " ";
    EXPECT_NE(contestant_hash(contestant), before) << name;
    fill();
    EXPECT_EQ(contestant_hash(contestant), before) << name;
  }
}

std::string why_unreadable(const Contestant& contestant) {
  try {
    contestant_hash(contestant);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(ContestantSources, AreNoLinksAndNobodysSecrets) {
  const ScratchFolder folder(FolderOwner::kReferee);
  write(folder.path() / "secret.c", "the operator's password");
  chmod((folder.path() / "secret.c").c_str(), 0600);
  write(folder.path() / "plain.c", "int a;");
  std::filesystem::create_symlink("plain.c", folder.path() / "link.c");
  std::filesystem::create_directory(folder.path() / "inner");
  write(folder.path() / "inner/b.c", "int a;");
  std::filesystem::create_directory_symlink("inner", folder.path() / "away");
  write(folder.path() / "by_include.c", "#include \"link.c\"\n");
  EXPECT_EQ(why_unreadable(source_in(folder, "plain.c")), "");
  for (const char* name : {"link.c", "away/b.c", "by_include.c"}) {
    EXPECT_NE(why_unreadable(source_in(folder, name)).find("lies behind, a link"),
              std::string::npos)
        << name << ": " << why_unreadable(source_in(folder, name));
  }
  EXPECT_NE(why_unreadable(source_in(folder, "inner")).find("it is no file"), std::string::npos);
  if (geteuid() != 0) GTEST_SKIP() << "only root may read what contestants may not";
  EXPECT_NE(why_unreadable(source_in(folder, "secret.c")).find("chmod o+r"), std::string::npos);
  // Outside the folder of the pitch the rights of that user decide, folders on the way included.
  std::filesystem::create_directory(folder.path() / "closed");
  write(folder.path() / "closed/k.c", "int a;");
  chmod((folder.path() / "closed").c_str(), 0700);
  Contestant outside = source_in(folder, "../closed/k.c");
  outside.folder = folder.path() / "inner";
  EXPECT_NE(why_unreadable(outside).find("may not enter"), std::string::npos)
      << why_unreadable(outside);
}

// Each reads a file at build time that its hash does not cover: somebody's, shared memory, and what
// the kernel makes up as it is read.
TEST(ContestantSources, AreAllThatACompilerReads) {
  const ScratchFolder elsewhere(FolderOwner::kReferee);
  const ScratchFolder in_memory(FolderOwner::kReferee, "/dev/shm");
  std::vector<std::string> texts;
  for (const ScratchFolder* one : {&elsewhere, &in_memory}) {
    write(one->path() / "secret.txt", "hidden_in_plain_sight\n");
    const std::string secret = (one->path() / "secret.txt").string();
    texts.push_back("#include \"" + secret + "\"\n");
    texts.push_back("#define NAME \"" + secret + "\"\n#include NAME\n");
    texts.push_back("__asm__(\".incbin \\\"" + secret + "\\\"\");\n");
  }
  for (const char* file : {"/proc/uptime", "/proc/self/status", "/sys/devices/system/cpu/online"}) {
    texts.push_back(std::string("__asm__(\".incbin \\\"") + file + "\\\"\");\n");
  }
  const bool protects = [] {
    for (const auto& one : referee::probe_protections(THRESHER_BINARY_DIR "/thresher")) {
      if (one.name == referee::layer::kWriteProtection) return one.ok;
    }
    return false;
  }();
  if (!protects) GTEST_SKIP() << "needs Landlock";
  for (const std::string& text : texts) {
    const ScratchFolder folder(FolderOwner::kReferee);
    write(folder.path() / "k.c", text);
    const Verdict verdict =
        check_contestant(source_in(folder, "k.c"), testing::tiny_suite(), testing::quick_options());
    EXPECT_EQ(verdict.check, "build") << text;
    EXPECT_EQ(verdict.reason.find("hidden_in_plain_sight"), std::string::npos) << verdict.reason;
  }
}

// Read once: what is built is what was hashed, whatever becomes of the file in between.
TEST(ContestantSources, AreBuiltAsTheyWereHashed) {
  const ScratchFolder folder(FolderOwner::kReferee);
  std::filesystem::copy_file(THRESHER_SOURCE_DIR "/examples/contestants/plain.c",
                             folder.path() / "k.c");
  Match match{.champion = source_in(folder, "k.c"),
              .challenger = testing::variant("cpu_portable"),
              .suite = testing::tiny_suite(),
              .options = testing::quick_options()};
  const std::string hash = contestant_hash(match.champion);
  match.options.progress = [&](const std::string&) { write(folder.path() / "k.c", "no program"); };
  const MatchRecord record = judge(match);
  EXPECT_EQ(record.champion_hash, hash);
  EXPECT_EQ(record.samples.heats.size(), 2u) << record.verdict.reason;
  EXPECT_NE(contestant_hash(match.champion), hash);
}

TEST(ContestantBuild, BlamesNobodyForAFullDisk) {
  const ScratchFolder folder(FolderOwner::kReferee);
  // Below a scratch folder, not over it: whoever starts meanwhile would take it for an orphan's.
  const ScratchFolder place(FolderOwner::kReferee);
  const std::filesystem::path small = place.path() / "small";
  std::filesystem::create_directory(small);
  if (mount("none", small.c_str(), "tmpfs", 0, "size=128k") != 0) {
    GTEST_SKIP() << "only root has a disk to fill";
  }
  write(folder.path() / "k.c",
        "char filling[1 << 20] = {1};\n#include \"thresher/contestant.h\"\n");
  std::string said;
  try {
    const Contestant contestant = source_in(folder, "k.c");
    const referee::BuildResult built =
        referee::build(contestant, referee::read_sources(contestant),
                       {.program = THRESHER_BINARY_DIR "/thresher", .folder = small});
    said = built.fault ? "a fault: " + built.fault->reason : "no fault";
  } catch (const Error& error) {
    said = error.what();
  }
  umount2(small.c_str(), MNT_DETACH);
  EXPECT_NE(said.find("KiB left, too little to referee with; make room, or set TMPDIR"),
            std::string::npos)
      << said;
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
