// SPDX-License-Identifier: Apache-2.0
// Several processes on one ledger, and processes that are killed while they append.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <thread>

#include "gemm/random.hpp"
#include "nvfp4/error_message.hpp"
#include "tank/child.hpp"
#include "tank/ledger/ledger.hpp"
#include "tank/scratch_folder.hpp"

namespace thresher {
namespace {

namespace fs = std::filesystem;
using testing::Child;
using testing::ScratchFolder;
using testing::write_all;

constexpr std::size_t kHashDigits = 64;

// What a child reports after each append that returned.
struct Receipt {
  std::int64_t id;
  char hash[kHashDigits];
};

void report(int fd, const LedgerEntry& entry) {
  Receipt receipt{.id = entry.id, .hash = {}};
  std::memcpy(receipt.hash, entry.hash.data(), kHashDigits);
  write_all(fd, {reinterpret_cast<const char*>(&receipt), sizeof receipt});
}

std::vector<Receipt> receipts_of(const Child& child) {
  const std::string bytes = child.output();
  std::vector<Receipt> receipts;
  for (std::size_t at = 0; at + sizeof(Receipt) <= bytes.size(); at += sizeof(Receipt)) {
    std::memcpy(&receipts.emplace_back(), bytes.data() + at, sizeof(Receipt));
  }
  return receipts;
}

std::map<std::int64_t, std::string> hashes_by_id(const Ledger& ledger) {
  std::map<std::int64_t, std::string> hashes;
  for (const LedgerEntry& entry : ledger.entries()) hashes[entry.id] = entry.hash;
  return hashes;
}

void expect_all_there(const Ledger& ledger, const std::vector<Receipt>& receipts) {
  const std::map<std::int64_t, std::string> hashes = hashes_by_id(ledger);
  for (const Receipt& receipt : receipts) {
    const auto found = hashes.find(receipt.id);
    ASSERT_NE(found, hashes.end()) << "entry " << receipt.id << " was reported and is lost";
    EXPECT_EQ(found->second, std::string(receipt.hash, kHashDigits));
  }
}

TEST(LedgerProcesses, TakeTurns) {
  constexpr int kProcessCount = 4;
  constexpr int kEntriesEach = 200;
  const ScratchFolder folder;
  const fs::path path = folder / "ledger.db";
  std::deque<Child> children;
  for (int process = 0; process < kProcessCount; ++process) {
    // They also create the ledger together.
    children.emplace_back([&](int fd) {
      Ledger ledger(path);
      for (int n = 0; n < kEntriesEach; ++n) {
        report(fd, ledger.append("s", "k", "measured", {{"process", process}, {"n", n}}));
      }
    });
  }
  std::vector<Receipt> receipts;
  for (const Child& child : children) {
    for (const Receipt& receipt : receipts_of(child)) receipts.push_back(receipt);
  }
  EXPECT_EQ(receipts.size(), std::size_t{kProcessCount} * kEntriesEach);
  const Ledger ledger(path);
  const LedgerAudit audit = ledger.audit();
  EXPECT_TRUE(audit.ok) << audit.first_fault;
  EXPECT_EQ(audit.entry_count, kProcessCount * kEntriesEach);
  expect_all_there(ledger, receipts);
}

TEST(LedgerProcesses, CreateTogether) {
  constexpr int kProcessCount = 3;
  for (int repeat = 0; repeat < 50; ++repeat) {
    const ScratchFolder folder;
    const fs::path path = folder / "ledger.db";
    const auto start = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
    std::deque<Child> children;
    for (int process = 0; process < kProcessCount; ++process) {
      children.emplace_back([&](int fd) {
        while (std::chrono::steady_clock::now() < start) std::this_thread::yield();
        write_all(fd, nvfp4::error_message([&] {
                    Ledger(path).append("s", "k", "measured", {{"process", process}});
                  }));
      });
    }
    for (const Child& child : children) ASSERT_EQ(child.output(), "no error");
    ASSERT_EQ(Ledger(path).audit().entry_count, kProcessCount);
  }
}

// Appends entries of very different sizes for ever.
void append_until_killed(const fs::path& path, std::uint64_t seed, int fd) {
  Random random(seed);
  Ledger ledger(path);
  while (true) {
    const std::string text(random.below(10'000), 'x');
    report(fd, ledger.append("s", "k", "measured", {{"seed", seed}, {"text", text}}));
  }
}

TEST(LedgerProcesses, LoseNothingReportedWhenKilled) {
  constexpr int kKillCount = 100;
  constexpr int kKillsPerLedger = 10;  // so that creating one is interrupted, too
  constexpr std::uint64_t kSeed = 20260401;
  Random random(kSeed);
  std::size_t receipt_count = 0;
  for (int ledger_index = 0; ledger_index < kKillCount / kKillsPerLedger; ++ledger_index) {
    const ScratchFolder folder;
    const fs::path path = folder / "ledger.db";
    std::vector<Receipt> receipts;
    for (int kill_index = 0; kill_index < kKillsPerLedger; ++kill_index) {
      const std::uint64_t child_seed = random.next();
      const Child child([&](int fd) { append_until_killed(path, child_seed, fd); });
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(12'000)));
      child.kill();
      const std::vector<Receipt> reported = receipts_of(child);
      receipts.insert(receipts.end(), reported.begin(), reported.end());
      const Ledger ledger(path);
      const LedgerAudit audit = ledger.audit();
      ASSERT_TRUE(audit.ok) << audit.first_fault << ", seed " << kSeed;
      // At most the one that was being written is there without a receipt, for each kill so far.
      const auto extra = static_cast<std::size_t>(audit.entry_count) - receipts.size();
      ASSERT_LE(extra, static_cast<std::size_t>(kill_index) + 1);
      expect_all_there(ledger, receipts);
    }
    receipt_count += receipts.size();
  }
  EXPECT_GT(receipt_count, std::size_t{kKillCount}) << "the children hardly got to append";
}

}  // namespace
}  // namespace thresher
