// SPDX-License-Identifier: Apache-2.0
// A season in words: what was accepted and why, what is better now, what to do next.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "tank/season/season_record.hpp"

namespace thresher::cli {

// Prose in lines of at most `width` columns; commands stay whole. `ledger` is named in them where
// it is not the default.
std::string season_summary(const SeasonRecord& record, const std::filesystem::path& ledger,
                           std::size_t width);

}  // namespace thresher::cli
