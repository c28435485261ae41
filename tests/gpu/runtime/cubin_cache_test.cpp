// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/cubin_cache.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "gpu/runtime/fake_nvrtc.hpp"
#include "gpu/runtime/temporary_folder.hpp"

namespace thresher::gpu {
namespace {

namespace fs = std::filesystem;
using testing::FakeNvrtc;
using testing::TemporaryFolder;

constexpr int kDriverVersion = 13000;

class CubinCacheTest : public ::testing::Test {
 protected:
  CubinCacheTest() { FakeNvrtc::compile_count = 0; }

  Compilation get(const CubinCache& from) const {
    return from.get(compiler, request, kDriverVersion);
  }
  fs::path entry() const {
    return cache.entry_path(CubinCache::key(compiler, request, kDriverVersion));
  }
  std::size_t file_count() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& file : fs::directory_iterator(folder.path())) ++count;
    return count;
  }

  TemporaryFolder folder;
  Compiler compiler{FakeNvrtc::make()};
  CubinCache cache{folder.path()};
  CompileRequest request{
      .name = "k.cu", .source = "source", .headers = {{"a.cuh", "text"}}, .architecture = "sm_90a"};
};

void expect_same(const Compilation& a, const Compilation& b) {
  EXPECT_EQ(a.cubin, b.cubin);
  EXPECT_EQ(a.log, b.log);
  EXPECT_EQ(a.kernels, b.kernels);
  EXPECT_EQ(a.notes, b.notes);
}

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// Runs `body` in a child process; what it returns is the exit code.
int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_F(CubinCacheTest, CompilesOnce) {
  const Compilation compiled = get(cache);
  EXPECT_FALSE(compiled.from_cache);
  const Compilation kept = get(CubinCache(folder.path()));
  EXPECT_TRUE(kept.from_cache);
  EXPECT_EQ(FakeNvrtc::compile_count, 1);
  expect_same(kept, compiled);
  EXPECT_NEAR(kept.seconds, compiled.seconds, 1e-6);
  EXPECT_EQ(file_count(), 1U);
}

TEST_F(CubinCacheTest, KnowsWhichEntriesItGave) {
  EXPECT_TRUE(cache.given().empty());
  get(CubinCache(folder.path()));
  EXPECT_TRUE(cache.given().empty()) << "another's are not its own";
  const CubinCache copy = cache;
  get(copy);
  get(copy);
  EXPECT_EQ(cache.given(), std::vector<fs::path>{entry()}) << "found, by a copy, and once";
  request.source = "error";
  EXPECT_THROW(get(cache), CompileError);
  EXPECT_EQ(cache.given().size(), 1U);
}

TEST_F(CubinCacheTest, MakesItsFolder) {
  const CubinCache deep(folder.path() + "/a/b");
  get(deep);
  EXPECT_TRUE(get(deep).from_cache);
}

// Whatever the cubin depends on changes the key; so does moving text from one field to the next.
TEST_F(CubinCacheTest, KeyDependsOnEverything) {
  std::vector<std::string> keys;
  const auto add = [&](const Compiler& by, const CompileRequest& what, int driver) {
    keys.push_back(CubinCache::key(by, what, driver));
  };
  add(compiler, request, kDriverVersion);
  add(compiler, request, 12080);
  Nvrtc other = FakeNvrtc::make();
  other.minor = 4;
  add(Compiler(other), request, kDriverVersion);
  other = FakeNvrtc::make();
  other.file_bytes = 2;
  add(Compiler(other), request, kDriverVersion);
  const auto changed = [&](auto change) {
    CompileRequest copy = request;
    change(copy);
    add(compiler, copy, kDriverVersion);
  };
  changed([](CompileRequest& r) { r.name = "other.cu"; });
  changed([](CompileRequest& r) { r.source = "sourc"; });
  changed([](CompileRequest& r) { r.architecture = "sm_100a"; });
  changed([](CompileRequest& r) { r.options.emplace_back("-G"); });
  changed([](CompileRequest& r) { r.headers[0].text = "texts"; });
  changed([](CompileRequest& r) { r.headers[0].name = "b.cuh"; });
  changed([](CompileRequest& r) { r.headers.clear(); });
  changed([](CompileRequest& r) { r.headers = {{"a.cuhtext", ""}}; });
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::unique(keys.begin(), keys.end()), keys.end());
  EXPECT_EQ(keys[0].size(), 64U);
}

// Truncations and flipped bytes are noticed, and the next writer mends the entry.
TEST_F(CubinCacheTest, NoticesDamage) {
  const Compilation compiled = get(cache);
  const std::string good = read(entry());
  const std::string key = CubinCache::key(compiler, request, kDriverVersion);
  // Every place in the text at its head, and some of those in the bytes behind it.
  const auto next = [](std::size_t i) { return i < 200 ? i + 1 : i + 31; };
  for (std::size_t length = 0; length < good.size(); length = next(length)) {
    write(entry(), good.substr(0, length));
    EXPECT_FALSE(cache.load(key).has_value()) << "cut to " << length << " bytes";
  }
  for (std::size_t i = 0; i < good.size(); i = next(i)) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x20);
    write(entry(), bad);
    EXPECT_FALSE(cache.load(key).has_value()) << "byte " << i << " flipped";
  }
  write(entry(), good + "x");
  EXPECT_FALSE(cache.load(key).has_value());

  FakeNvrtc::compile_count = 0;
  expect_same(get(cache), compiled);
  EXPECT_EQ(FakeNvrtc::compile_count, 1);
  EXPECT_EQ(read(entry()).size(), good.size());
  EXPECT_TRUE(get(cache).from_cache);
}

// An entry moved under another name is not taken for that name's kernel.
TEST_F(CubinCacheTest, AnEntryKnowsItsKey) {
  get(cache);
  CompileRequest other = request;
  other.source = "another";
  const std::string other_key = CubinCache::key(compiler, other, kDriverVersion);
  fs::copy_file(entry(), cache.entry_path(other_key));
  EXPECT_FALSE(cache.load(other_key).has_value());
}

// What a killed writer leaves behind is in nobody's way.
TEST_F(CubinCacheTest, LeftoversAreNoEntries) {
  for (int i = 0; i < 20; ++i) {
    std::ofstream(entry().string() + fmt::format(".{}.{}.tmp", getpid(), i)) << "half an entry";
  }
  EXPECT_FALSE(get(cache).from_cache);
  EXPECT_TRUE(get(cache).from_cache);
}

TEST_F(CubinCacheTest, AFolderInThePlaceOfAnEntryIsNoEntry) {
  fs::create_directory(entry());
  EXPECT_FALSE(get(cache).from_cache);
  EXPECT_FALSE(get(cache).from_cache);
  EXPECT_EQ(file_count(), 1U);  // no temporary file stays behind
}

TEST_F(CubinCacheTest, KeepsNothingThatDidNotCompile) {
  request.source = "an error";
  EXPECT_THROW(get(cache), CompileError);
  EXPECT_EQ(file_count(), 0U);
}

TEST_F(CubinCacheTest, WorksWithoutAFolder) {
  EXPECT_FALSE(get(CubinCache()).from_cache);
  EXPECT_FALSE(get(CubinCache()).from_cache);
  EXPECT_EQ(FakeNvrtc::compile_count, 2);
}

TEST_F(CubinCacheTest, AnUnwritableFolderIsOnlyNoCache) {
  const CubinCache nowhere("/proc/thresher");  // not even root may make it
  EXPECT_FALSE(get(nowhere).from_cache);
  EXPECT_FALSE(get(nowhere).from_cache);

  write(folder.path() + "/file", "");
  EXPECT_FALSE(get(CubinCache(folder.path() + "/file")).from_cache);
}

// Root writes everywhere, so a root that runs this becomes somebody else for it.
TEST_F(CubinCacheTest, AReadOnlyFolderStillGives) {
  get(cache);
  fs::permissions(entry(), fs::perms(0444));
  fs::permissions(folder.path(), fs::perms(0555));
  const int code = in_child([&] {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && seteuid(kNobody) != 0) return 1;
    if (!get(cache).from_cache) return 2;
    request.source = "another";
    if (get(cache).from_cache) return 3;
    return get(cache).from_cache ? 4 : 0;
  });
  EXPECT_EQ(code, 0);
  fs::permissions(folder.path(), fs::perms(0755));
}

// A limit on file sizes stands for a full disk: writing stops in the middle of the entry.
TEST_F(CubinCacheTest, AFullDiskIsOnlyNoCache) {
  const int code = in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 100, .rlim_max = 100};
    setrlimit(RLIMIT_FSIZE, &limit);
    const bool first_compiled = !get(cache).from_cache;
    return first_compiled && !get(cache).from_cache ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(file_count(), 0U);
}

// Many processes write and read the same entries at once; some are killed while at it.
TEST_F(CubinCacheTest, IsSafeAmongProcesses) {
  constexpr int kProcesses = 8;
  constexpr int kRounds = 60;
  const Compilation expected = compiler.compile(request);
  const auto work = [&] {
    const std::string key = CubinCache::key(compiler, request, kDriverVersion);
    for (int round = 0; round < kRounds; ++round) {
      if (round % 3 == 0) cache.store(key, expected);
      const Compilation got = get(cache);
      if (got.cubin != expected.cubin || got.log != expected.log) return 1;
      // Once an entry was there, no reader may ever miss it again.
      if (!got.from_cache) return 2;
    }
    return 0;
  };
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(work());
    children.push_back(child);
  }
  const pid_t victim = fork();
  if (victim == 0) {
    while (true) cache.store(CubinCache::key(compiler, request, kDriverVersion), expected);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  kill(victim, SIGKILL);
  waitpid(victim, nullptr, 0);
  EXPECT_TRUE(get(cache).from_cache);
}

TEST(DefaultCacheFolder, FollowsTheSpecification) {
  EXPECT_EQ(default_cache_folder("/x/cache", "/home/me"), "/x/cache/thresher");
  EXPECT_EQ(default_cache_folder(nullptr, "/home/me"), "/home/me/.cache/thresher");
  EXPECT_EQ(default_cache_folder("", "/home/me"), "/home/me/.cache/thresher");
  EXPECT_EQ(default_cache_folder("relative", "/home/me"), "/home/me/.cache/thresher");
  EXPECT_EQ(default_cache_folder(nullptr, nullptr), "");
  EXPECT_EQ(default_cache_folder(nullptr, ""), "");
}

}  // namespace
}  // namespace thresher::gpu
