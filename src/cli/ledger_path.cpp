// SPDX-License-Identifier: Apache-2.0
#include "cli/ledger_path.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "thresher/error.hpp"

namespace thresher::cli {

Option ledger_option(std::filesystem::path& path) {
  return {.name = "--ledger",
          .value = &path,
          .what = "The ledger's file, from the current folder",
          .default_text = kDefaultLedger};
}

std::vector<std::filesystem::path> hidden_from_contestants(const std::filesystem::path& ledger) {
  namespace fs = std::filesystem;
  const fs::path file = fs::absolute(ledger);
  std::vector<fs::path> hidden{fs::absolute(kDefaultLedger).parent_path()};
  for (const char* ending : {"", "-wal", "-shm", ".anchor"})
    hidden.push_back(file.string() + ending);
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    for (const char* keys : {".ssh", ".gnupg"}) hidden.push_back(fs::path(home) / keys);
  }
  return hidden;
}

Ledger open_existing_ledger(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    throw Error(fmt::format(
        "there is no ledger '{}'; a round or a season makes it, or name another with --ledger",
        path.string()));
  }
  return Ledger(path, LedgerAccess::kRead);
}

}  // namespace thresher::cli
