// SPDX-License-Identifier: Apache-2.0
// A scoreboard as tables for people.
#pragma once

#include "tank/season/scoreboard.hpp"

namespace thresher::cli {

void print_scoreboard(const Scoreboard& board);
// Of what is predicted, and of what came of it where somebody has measured.
void print_forecasts(const ForecastScores& scores);

}  // namespace thresher::cli
