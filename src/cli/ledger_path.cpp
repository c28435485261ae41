// SPDX-License-Identifier: Apache-2.0
#include "cli/ledger_path.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "thresher/error.hpp"

namespace thresher::cli {
namespace {

constexpr const char* kDefaultPath = "out/ledger.db";

}  // namespace

void add_ledger_option(CLI::App& command, std::filesystem::path& path) {
  path = kDefaultPath;
  command.add_option("--ledger", path, "The ledger's file, from the current folder")
      ->default_str(kDefaultPath);
}

Ledger open_existing_ledger(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    throw Error(fmt::format(
        "there is no ledger '{}'; a round or a season makes it, or name another with --ledger",
        path.string()));
  }
  return Ledger(path);
}

}  // namespace thresher::cli
