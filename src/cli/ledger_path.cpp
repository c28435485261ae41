// SPDX-License-Identifier: Apache-2.0
#include "cli/ledger_path.hpp"

#include <fmt/format.h>

#include "thresher/error.hpp"

namespace thresher::cli {

Option ledger_option(std::filesystem::path& path) {
  return {.name = "--ledger",
          .value = &path,
          .what = "The ledger's file, from the current folder",
          .default_text = kDefaultLedger};
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
