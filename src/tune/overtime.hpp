// SPDX-License-Identifier: Apache-2.0
// What time is left over when all problems are tuned: it goes to matches that it was too short for.
#pragma once

#include <functional>
#include <vector>

#include "tune/hunt.hpp"

namespace thresher::tune {

// Plays open matches on, those that need the fewest heats first, each with an equal part of what is
// left; again and again, as long as there is time and it helps. Rulings are replaced.
void play_overtime(std::vector<Ruling>& rulings, const std::function<double()>& seconds_left,
                   const std::function<Ruling(std::size_t index, double seconds)>& play_on);

}  // namespace thresher::tune
