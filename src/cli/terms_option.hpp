// SPDX-License-Identifier: Apache-2.0
// --terms: what a challenger has to meet, for every command that judges.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"
#include "referee/statistics/verdict.hpp"

namespace thresher::cli {

Option terms_option(std::vector<std::string>& terms);

// "speedup=1.02", "regression=0.05" and so on; what is not named keeps its default. Throws
// UsageError.
DealTerms terms_from(const std::vector<std::string>& assignments);

}  // namespace thresher::cli
