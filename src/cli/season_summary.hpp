// SPDX-License-Identifier: Apache-2.0
// A season in words: what was accepted and why, what is better now, what to do next.
#pragma once

#include <filesystem>
#include <string>

#include "tank/season/season_record.hpp"

namespace thresher::cli {

// Lines of at most 100 columns. `ledger` is named in the commands where it is not the default.
std::string season_summary(const SeasonRecord& record, const std::filesystem::path& ledger);

}  // namespace thresher::cli
