// SPDX-License-Identifier: Apache-2.0
// Places that cannot hold a ledger, and files that are none.
#include "tank/ledger/ledger_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <thread>

#include "nvfp4/error_message.hpp"
#include "tank/child.hpp"
#include "tank/ledger/export.hpp"
#include "tank/ledger/ledger.hpp"
#include "tank/raw_sqlite.hpp"
#include "tank/scratch_folder.hpp"

namespace thresher {
namespace {

namespace fs = std::filesystem;
using nvfp4::error_message;
using testing::Child;
using testing::raw_sql;
using testing::ScratchFolder;
using testing::write_all;

std::string complaint_about(const fs::path& path) {
  return error_message([&] { Ledger ledger(path); });
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

TEST(LedgerFile, MakesTheFoldersAboveIt) {
  const ScratchFolder folder;
  EXPECT_EQ(Ledger(folder / "out/deeper/ledger.db").audit().entry_count, 0);
  EXPECT_TRUE(fs::is_regular_file(folder / "out/deeper/ledger.db"));
}

TEST(LedgerFile, TakesAnEmptyFile) {
  const ScratchFolder folder;
  write_file(folder / "ledger.db", "");
  EXPECT_EQ(complaint_about(folder / "ledger.db"), "no error");
}

TEST(LedgerFile, TakesNoNameForSpecial) {
  const ScratchFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  Ledger(":memory:").append("s", "k", "measured", {{"n", 1}});
  EXPECT_EQ(Ledger(":memory:").entries().size(), 1u);
  Ledger("file:x.db?mode=memory");
  EXPECT_TRUE(fs::exists("file:x.db?mode=memory"));
  fs::current_path(before);
  EXPECT_EQ(complaint_about(""), "ledger '': name a file");
}

TEST(LedgerFile, RefusesWhatIsNoFile) {
  const ScratchFolder folder;
  const std::string name = folder.path().string();
  EXPECT_EQ(complaint_about(folder.path()), "ledger '" + name + "': it is no file; name a file");
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(complaint_about(folder / "pipe"),
            "ledger '" + name + "/pipe': it is no file; name a file");
  write_file(folder / "text", "hello");
  EXPECT_EQ(complaint_about(folder / "text/ledger.db"),
            "ledger '" + name +
                "/text/ledger.db': cannot make its folder: Not a directory; choose another place");
}

TEST(LedgerFile, LeavesForeignFilesAlone) {
  const ScratchFolder folder;
  const fs::path path = folder / "notes.txt";
  for (const std::size_t size : {1, 5, 100, 511, 512, 5000}) {
    const std::string text(size, 'x');
    write_file(path, text);
    EXPECT_EQ(complaint_about(path),
              "ledger '" + path.string() + "': it is no ledger; choose another file");
    EXPECT_EQ(read_file(path), text);
  }
}

TEST(LedgerFile, LeavesForeignDatabasesAlone) {
  const ScratchFolder folder;
  const fs::path path = folder / "other.db";
  for (const char* statements : {"CREATE TABLE entries(id); INSERT INTO entries VALUES (1)",
                                 "PRAGMA user_version = 3", "PRAGMA application_id = 77"}) {
    fs::remove(path);
    ASSERT_EQ(raw_sql(path, statements), "ok");
    const std::string before = read_file(path);
    EXPECT_EQ(
        complaint_about(path),
        "ledger '" + path.string() + "': it is another program's database; choose another file");
    EXPECT_EQ(read_file(path), before);
  }
}

TEST(LedgerFile, RefusesAnotherVersion) {
  const ScratchFolder folder;
  const fs::path path = folder / "ledger.db";
  Ledger(path).append("s", "k", "measured", {{"n", 1}});
  ASSERT_EQ(raw_sql(path, "PRAGMA user_version = 2"), "ok");
  EXPECT_EQ(complaint_about(path),
            "ledger '" + path.string() +
                "': its version is 2, this thresher knows version 1; use the thresher that wrote "
                "it");
  ASSERT_EQ(raw_sql(path, "PRAGMA user_version = 1"), "ok");
  EXPECT_EQ(Ledger(path).entries().size(), 1u);
}

TEST(LedgerFile, FindsThatTheEndIsCutOff) {
  const ScratchFolder folder;
  const fs::path path = folder / "ledger.db";
  {
    Ledger ledger(path);
    for (int i = 0; i < 100; ++i) {
      ledger.append("s", "k", "measured", {{"text", std::string(500, 'x')}});
    }
  }
  const std::uintmax_t size = fs::file_size(path);
  fs::resize_file(path, size - 1);
  EXPECT_FALSE(Ledger(path).audit().ok);
  for (const std::uintmax_t kept : {size - 4096, size / 2, std::uintmax_t{4096}}) {
    fs::resize_file(path, kept);
    EXPECT_NE(complaint_about(path).find("the file is damaged"), std::string::npos)
        << complaint_about(path);
  }
  fs::resize_file(path, 90);
  EXPECT_NE(complaint_about(path).find("it is no ledger"), std::string::npos);
}

// What a kill right after creation leaves: a ledger that is not yet in WAL mode.
TEST(LedgerFile, WaitsToSwitchToWal) {
  const ScratchFolder folder;
  const fs::path path = folder / "ledger.db";
  Ledger(path).append("s", "k", "measured", {{"n", 1}});
  ASSERT_EQ(raw_sql(path, "PRAGMA journal_mode = DELETE"), "ok");
  const sqlite::Database other(path, std::chrono::milliseconds(0));
  auto lock = std::make_unique<sqlite::Transaction>(other, sqlite::Transaction::Kind::kWrite);
  std::thread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    lock.reset();
  });
  EXPECT_EQ(complaint_about(path), "no error");
  release.join();
  EXPECT_EQ(other.query_text("PRAGMA journal_mode"), "wal");
}

// For root every place is writable, so the child becomes nobody first.
TEST(LedgerFile, AnExportIsReadLikeItsLedger) {
  const ScratchFolder folder;
  const fs::path path = folder / "ledger.jsonl";
  std::vector<LedgerEntry> entries;
  {
    Ledger ledger(folder / "ledger.db");
    for (const char* season : {"a", "b", "a"})
      ledger.append(season, "pitch", "measured", {{"x", 0.1}});
    entries = ledger.entries();
  }
  std::ofstream(path) << to_json_lines(entries);
  {
    const Ledger exported(path, LedgerAccess::kRead);
    EXPECT_TRUE(exported.audit().ok) << exported.audit().first_fault;
    EXPECT_EQ(exported.seasons(), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(exported.entries().back().hash, entries.back().hash);
  }
  std::string changed = to_json_lines(entries);
  changed.replace(changed.find("0.1"), 3, "0.2");
  std::ofstream(path) << changed;
  EXPECT_EQ(Ledger(path, LedgerAccess::kRead).audit().first_fault,
            "entry 1: hash does not match its contents");
  const auto complaint = [&](const std::string& text) {
    std::ofstream(path) << text;
    return error_message([&] { Ledger ledger(path, LedgerAccess::kRead); });
  };
  entries.erase(entries.begin());
  EXPECT_NE(complaint(to_json_lines(entries)).find("line 1: it does not follow the entry before"),
            std::string::npos);
  EXPECT_NE(complaint("{\"id\":1}\n").find("line 1: it is no entry of an exported ledger"),
            std::string::npos);
}

TEST(LedgerFile, SaysWhenItMayNotWrite) {
  const ScratchFolder folder;
  const fs::path path = folder / "ledger.db";
  Ledger(path).append("s", "k", "measured", {{"n", 1}});
  fs::permissions(folder.path(), fs::perms{0555});
  const auto as_nobody = [&](fs::perms file_permissions, const fs::path& target) {
    fs::permissions(path, file_permissions);
    return Child([&](int fd) {
             if (getuid() == 0 && setuid(65534) != 0) _exit(1);
             write_all(fd, complaint_about(target));
           })
        .output();
  };
  const std::string advice =
      ": it cannot be written; check the permissions of the file and its folder, or choose another "
      "place";
  EXPECT_EQ(as_nobody(fs::perms{0444}, path), "ledger '" + path.string() + "'" + advice);
  EXPECT_EQ(as_nobody(fs::perms{0666}, path), "ledger '" + path.string() + "'" + advice);
  EXPECT_EQ(as_nobody(fs::perms{0000}, path), "ledger '" + path.string() + "'" + advice);
  const fs::path fresh = folder / "new.db";
  EXPECT_EQ(as_nobody(fs::perms{0644}, fresh), "ledger '" + fresh.string() + "'" + advice);
  const fs::path deeper = folder / "deeper/new.db";
  EXPECT_EQ(as_nobody(fs::perms{0644}, deeper),
            "ledger '" + deeper.string() +
                "': cannot make its folder: Permission denied; choose another place");
  fs::permissions(folder.path(), fs::perms{0777});
  EXPECT_EQ(as_nobody(fs::perms{0444}, path), "ledger '" + path.string() + "'" + advice);
  EXPECT_TRUE(Ledger(path).audit().ok);
}

// What somebody without any right to write reads: the entries, or a complaint.
std::string read_as_nobody(const fs::path& path) {
  return Child([&](int fd) {
           if (getuid() == 0 && setuid(65534) != 0) _exit(1);
           std::string text;
           const std::string complaint = error_message([&] {
             const Ledger ledger(path, LedgerAccess::kRead);
             const LedgerAudit audit = ledger.audit();
             text = fmt::format("{} entries, {}, {}", ledger.entries().size(),
                                audit.ok ? "whole" : audit.first_fault,
                                fmt::join(ledger.seasons(), " "));
           });
           write_all(fd, text.empty() ? complaint : text);
         })
      .output();
}

class UnwritableLedger : public ::testing::Test {
 protected:
  UnwritableLedger() { Ledger(path_).append("s", "k", "measured", {{"n", 1}}); }
  ~UnwritableLedger() override { fs::permissions(folder_.path(), fs::perms{0755}); }

  // Read-only for everybody but root, whom nothing stops.
  void lock() {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_.path())) {
      fs::permissions(entry.path(), fs::perms{0444});
    }
    fs::permissions(folder_.path(), fs::perms{0555});
  }

  const ScratchFolder folder_;
  const fs::path path_ = folder_ / "a % ledger?.db";
};

TEST_F(UnwritableLedger, IsReadWithoutASingleNewFile) {
  lock();
  EXPECT_EQ(read_as_nobody(path_), "1 entries, whole, s");
  // The ledger and its anchor.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator{}), 2);
  EXPECT_EQ(read_as_nobody(folder_ / "other.db").find("ledger '"), 0u) << "and makes none";
}

TEST_F(UnwritableLedger, ShowsWhatAKilledWriterLeftBesideIt) {
  const Child writer([&](int fd) {
    Ledger ledger(path_);
    ledger.append("late", "k", "measured", {{"n", 2}});
    write_all(fd, "x");
    ::kill(getpid(), SIGKILL);
  });
  EXPECT_EQ(writer.output(), "x");
  ASSERT_TRUE(fs::exists(path_.string() + "-wal"));
  fs::remove(path_.string() + "-shm");
  lock();
  EXPECT_EQ(read_as_nobody(path_), "2 entries, whole, s late");
}

TEST_F(UnwritableLedger, IsReadWhileAnotherWrites) {
  Ledger writer(path_);
  writer.append("now", "k", "measured", {{"n", 2}});
  for (const char* ending : {"", "-wal", "-shm"}) {
    fs::permissions(path_.string() + ending, fs::perms{0644});
  }
  fs::permissions(folder_.path(), fs::perms{0555});
  EXPECT_EQ(read_as_nobody(path_), "2 entries, whole, s now");
  writer.append("now", "k", "measured", {{"n", 3}});
  EXPECT_EQ(read_as_nobody(path_), "3 entries, whole, s now");
}

TEST_F(UnwritableLedger, SaysSoWhenItCannotEvenBeRead) {
  fs::permissions(path_, fs::perms{0000});
  fs::permissions(folder_.path(), fs::perms{0555});
  EXPECT_EQ(read_as_nobody(path_), "ledger '" + path_.string() +
                                       "': it cannot be read; check the permissions of the file");
}

TEST_F(UnwritableLedger, IsNotAppendedTo) {
  lock();
  const std::string complaint =
      Child([&](int fd) {
        if (getuid() == 0 && setuid(65534) != 0) _exit(1);
        write_all(fd, error_message([&] {
                    Ledger(path_, LedgerAccess::kRead).append("s", "k", "measured", {{"n", 2}});
                  }));
      }).output();
  EXPECT_NE(complaint.find("it cannot be written"), std::string::npos) << complaint;
}

// Appends until the place is full, makes room, goes on; returns what the full place was told.
template <typename MakeRoom>
std::string fill_up(const fs::path& path, MakeRoom make_room) {
  Ledger ledger(path);
  std::int64_t appended_count = 0;
  const std::string complaint = error_message([&] {
    for (; appended_count < 10'000; ++appended_count) {
      ledger.append("s", "k", "measured", {{"text", std::string(2000, 'x')}});
    }
  });
  LedgerAudit audit = ledger.audit();
  if (!audit.ok || audit.entry_count != appended_count) return "lost entries when full";
  make_room();
  ledger.append("s", "k", "measured", {{"text", "there is room again"}});
  audit = ledger.audit();
  if (!audit.ok || audit.entry_count != appended_count + 1) return "lost entries afterwards";
  return complaint;
}

TEST(LedgerFile, LosesNothingWhenFilesMayNotGrow) {
  const ScratchFolder folder;
  const fs::path path = folder / "ledger.db";
  const std::string complaint =
      Child([&](int fd) {
        std::signal(SIGXFSZ, SIG_IGN);
        rlimit limit{};
        getrlimit(RLIMIT_FSIZE, &limit);
        limit.rlim_cur = 400'000;
        setrlimit(RLIMIT_FSIZE, &limit);
        const auto lift_limit = [&] {
          limit.rlim_cur = limit.rlim_max;
          setrlimit(RLIMIT_FSIZE, &limit);
        };
        write_all(fd, error_message([&] { write_all(fd, fill_up(path, lift_limit)); }));
      }).output();
  EXPECT_EQ(complaint, "cannot record the 'k' entry: ledger '" + path.string() +
                           "': the disk cannot be read or written; look at its free space, "
                           "quota and health, then try again. What was recorded before is safe"
                           "no error");
}

TEST(LedgerFile, LosesNothingWhenTheDiskIsFull) {
  const ScratchFolder folder;
  const fs::path path = folder / "ledger.db";
  const std::string complaint =
      Child([&](int fd) {
        // A disk of our own, which nobody else sees.
        const bool mounted = unshare(CLONE_NEWNS | (getuid() == 0 ? 0 : CLONE_NEWUSER)) == 0 &&
                             mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                             mount("none", folder.path().c_str(), "tmpfs", 0, "size=512k") == 0;
        if (!mounted) {
          write_all(fd, "no mount");
          return;
        }
        write_file(folder / "ballast", std::string(100'000, 'x'));
        const auto drop_ballast = [&] { fs::remove(folder / "ballast"); };
        write_all(fd, error_message([&] { write_all(fd, fill_up(path, drop_ballast)); }));
      }).output();
  if (complaint == "no mount") GTEST_SKIP() << "needs the right to mount a file system";
  EXPECT_EQ(complaint, "cannot record the 'k' entry: ledger '" + path.string() +
                           "': the disk is full; make room, then try again. What was recorded "
                           "before is safeno error");
}

TEST(LedgerFile, CreatesNothingHalfOnAFullDisk) {
  const ScratchFolder folder;
  const fs::path path = folder / "ledger.db";
  const std::string complaint = Child([&](int fd) {
                                  std::signal(SIGXFSZ, SIG_IGN);
                                  const rlimit limit{.rlim_cur = 5000, .rlim_max = 5000};
                                  setrlimit(RLIMIT_FSIZE, &limit);
                                  write_all(fd, complaint_about(path));
                                }).output();
  EXPECT_NE(complaint.find("the disk cannot be read or written"), std::string::npos) << complaint;
  EXPECT_TRUE(Ledger(path).audit().ok);
}

}  // namespace
}  // namespace thresher
