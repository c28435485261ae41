// SPDX-License-Identifier: Apache-2.0
// Any damage to the file is an Error or a failed audit. A ledger that passes its audit holds every
// entry as it was written: damage may only ever have hit bytes that mean nothing.
#include <gtest/gtest.h>

#include <fstream>

#include "gemm/random.hpp"
#include "tank/ledger/export.hpp"
#include "tank/ledger/ledger.hpp"
#include "tank/scratch_folder.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

namespace fs = std::filesystem;
using testing::ScratchFolder;

std::string bytes_of_a_ledger(const fs::path& path) {
  {
    Ledger ledger(path);
    for (int n = 0; n < 40; ++n) {
      // Some entries fill pages of their own.
      const std::string text(n % 8 == 0 ? 9000 : 40, static_cast<char>('a' + n % 26));
      ledger.append("s", n % 2 == 0 ? "match" : "pitch", "measured", {{"n", n}, {"text", text}});
    }
  }
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Bytes that SQLite counts and points with, more often than text.
std::string mutate(Random& random, std::string bytes) {
  constexpr std::size_t kPageBytes = 4096;
  const int change_count = random.between(1, 8);
  for (int i = 0; i < change_count; ++i) {
    const std::size_t page = random.below(bytes.size() / kPageBytes) * kPageBytes;
    const std::size_t at = page + random.below(random.below(2) == 0 ? 200 : kPageBytes);
    switch (random.below(4)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(random.below(256));
        break;
      case 2:
        bytes.replace(page, kPageBytes, kPageBytes, '\0');
        break;
      default:
        bytes.replace(
            page, kPageBytes,
            bytes.substr(random.below(bytes.size() / kPageBytes) * kPageBytes, kPageBytes));
    }
  }
  if (random.below(10) == 0) bytes.resize(1 + random.below(bytes.size()));
  return bytes;
}

enum class Reading { kError, kFailedAudit, kIntact };

bool same(const std::vector<LedgerEntry>& a, const std::vector<LedgerEntry>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const LedgerEntry& x, const LedgerEntry& y) {
                      return x.id == y.id && x.hash == y.hash && x.data == y.data;
                    });
}

// Uses a ledger in every way there is.
Reading use(const fs::path& path, const std::vector<LedgerEntry>& originals) {
  Reading outcome = Reading::kError;
  try {
    Ledger ledger(path);
    const bool ok = ledger.audit().ok;
    outcome = ok ? Reading::kIntact : Reading::kFailedAudit;
    EXPECT_TRUE(!ok || same(ledger.entries(), originals)) << "an audit passed a changed ledger";
    ledger.seasons();
    ledger.entries("s", "match");
    ledger.append("s", "k", "measured", {{"after", "damage"}});
    ledger.audit();
  } catch (const Error&) {
  }
  return outcome;
}

// An export is a ledger to read: damage to its text is found as damage to the file is.
TEST(LedgerFuzz, ExportsNeverPassAChangeEither) {
  constexpr int kFileCount = 200;
  constexpr std::uint64_t kSeed = 8;
  const ScratchFolder folder;
  bytes_of_a_ledger(folder / "original.db");
  const std::vector<LedgerEntry> originals = Ledger(folder / "original.db").entries();
  const std::string text = to_json_lines(originals);
  const fs::path path = folder / "ledger.jsonl";
  int damaged_count = 0;
  for (int i = 0; i < kFileCount; ++i) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", file " + std::to_string(i));
    Random random(kSeed, static_cast<std::uint64_t>(i));
    std::string damaged = text;
    for (int n = random.between(1, 4); n > 0; --n) {
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    }
    std::ofstream(path, std::ios::binary) << damaged;
    Reading outcome = Reading::kError;
    try {
      const Ledger ledger(path, LedgerAccess::kRead);
      outcome = ledger.audit().ok ? Reading::kIntact : Reading::kFailedAudit;
      EXPECT_TRUE(outcome != Reading::kIntact || same(ledger.entries(), originals));
    } catch (const Error&) {
    }
    if (outcome != Reading::kIntact) ++damaged_count;
  }
  EXPECT_GT(damaged_count, kFileCount / 2);
}

TEST(LedgerFuzz, NeverCrashesAndNeverPassesAChange) {
  constexpr int kFileCount = 200;
  constexpr std::uint64_t kSeed = 7;
  const ScratchFolder folder;
  const std::string bytes = bytes_of_a_ledger(folder / "original.db");
  const std::vector<LedgerEntry> originals = Ledger(folder / "original.db").entries();
  int damaged_count = 0;
  for (int i = 0; i < kFileCount; ++i) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", file " + std::to_string(i));
    Random random(kSeed, static_cast<std::uint64_t>(i));
    const ScratchFolder each;
    std::ofstream(each / "ledger.db", std::ios::binary) << mutate(random, bytes);
    if (use(each / "ledger.db", originals) != Reading::kIntact) ++damaged_count;
  }
  EXPECT_GT(damaged_count, kFileCount / 2) << "the damage is too small to test anything";
}

}  // namespace
}  // namespace thresher
