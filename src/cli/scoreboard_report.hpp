// SPDX-License-Identifier: Apache-2.0
// A scoreboard as tables for people.
#pragma once

#include "tank/season/scoreboard.hpp"

namespace thresher::cli {

void print_scoreboard(const Scoreboard& board);

}  // namespace thresher::cli
