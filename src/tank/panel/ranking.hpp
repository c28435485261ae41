// SPDX-License-Identifier: Apache-2.0
// From ballots to an order of pitches: scores weighted by the rubric, then by the sharks'
// credibility. A tie goes to the lower risk, then to the lower complexity, then to the pitch the
// sharks agree on more, then to the name, so that the order never depends on chance.
#pragma once

#include <string>
#include <vector>

#include "tank/panel/ballot.hpp"
#include "tank/panel/credibility.hpp"
#include "tank/pitch/pitch.hpp"

namespace thresher {

struct RankedPitch {
  std::string pitch;
  double score = 0;
  double disagreement = 0;  // standard deviation of the sharks' scores
};

// Scores this close look alike on a scoreboard, so they are a tie.
inline constexpr double kTie = 0.005;

// Every pitch that has a ballot. A shark without a ballot on a pitch leaves its weight to the
// others.
std::vector<RankedPitch> rank(const std::vector<Ballot>& ballots, const Rubric& rubric,
                              const Credibilities& credibilities,
                              const std::vector<Pitch>& pitches);

}  // namespace thresher
