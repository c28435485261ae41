// SPDX-License-Identifier: Apache-2.0
#include "tank/ledger/anchor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>

namespace thresher {
namespace {

constexpr std::size_t kHashLength = 64;

}  // namespace

std::filesystem::path anchor_path(const std::filesystem::path& ledger) {
  return ledger.string() + ".anchor";
}

std::optional<LedgerAnchor> read_anchor(const std::filesystem::path& ledger) {
  std::ifstream file(anchor_path(ledger));
  LedgerAnchor anchor;
  if (!(file >> anchor.id >> anchor.hash)) return std::nullopt;
  if (anchor.id < 1 || anchor.hash.size() != kHashLength) return std::nullopt;
  return anchor;
}

void move_anchor(const std::filesystem::path& ledger, const LedgerAnchor& anchor) {
  const int fd = open(anchor_path(ledger).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return;
  // Others append to the same ledger.
  if (flock(fd, LOCK_EX) == 0) {
    const std::optional<LedgerAnchor> before = read_anchor(ledger);
    if (!before || before->id < anchor.id) {
      const std::string line = fmt::format("{:>20} {}\n", anchor.id, anchor.hash);
      const ssize_t written = pwrite(fd, line.data(), line.size(), 0);
      static_cast<void>(written);
    }
  }
  close(fd);
}

}  // namespace thresher
