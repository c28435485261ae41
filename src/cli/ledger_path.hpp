// SPDX-License-Identifier: Apache-2.0
// --ledger: which ledger a command reads or writes, with one default for all commands.
#pragma once

#include <filesystem>
#include <vector>

#include "cli/command.hpp"
#include "tank/ledger/ledger.hpp"

namespace thresher::cli {

inline constexpr const char* kDefaultLedger = "out/ledger.db";

Option ledger_option(std::filesystem::path& path);

// What contestants shall not see: the ledger, the folder of the default one, and keys of whoever
// started this command.
std::vector<std::filesystem::path> hidden_from_contestants(
    const std::filesystem::path& ledger = kDefaultLedger);

// For commands that only look: a path where there is no ledger is an Error, not a new ledger.
Ledger open_existing_ledger(const std::filesystem::path& path);

}  // namespace thresher::cli
