// SPDX-License-Identifier: Apache-2.0
// A shark: a judge with a name, evidence of its own, and a program that turns both into a ballot.
//
// What a shark knows is given to it when it is made (theorist.hpp, skeptic.hpp, pragmatist.hpp,
// oracle.hpp), so that no two see the same thing: a panel that shares its evidence shares its
// mistakes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "referee/statistics/verdict.hpp"
#include "tank/panel/ballot.hpp"
#include "tank/pitch/pitch.hpp"

namespace thresher {

struct Shark {
  std::string name;
  // The pitch's contestant is the one that would run: knobs are laid over the champion's.
  std::function<Ballot(const Pitch& pitch)> judge;
};

// What a shark has come to believe of a pitch.
struct Belief {
  double p_right = 0.9;    // builds, runs and computes what it must
  double log_speedup = 0;  // median of ln(geomean speedup)
  double log_speedup_sd = 0.1;
  double evidence = 5;  // points for how well its evidence supports the claim
  // Chance to be accepted, from a shark with a better source for it than the numbers above.
  std::optional<double> p_works = {};
  std::string reason = {};  // one sentence with the numbers it rests on
};

// A belief as a ballot: points on every dimension any rubric asks for, and the forecast. All sharks
// share this scale, so that a point is worth the same whoever gives it.
Ballot make_ballot(const std::string& shark, const Pitch& pitch, const Belief& belief,
                   const DealTerms& terms);

// 10 points for half of the time saved, none for no gain.
double speedup_points(double log_speedup);

// Chance that ln(speedup) ~ N(mean, sd^2) is above `log_threshold`.
double chance_above(double log_threshold, double mean, double sd);

// Every shark votes for the pitch it gave the most points.
void cast_vote(std::vector<Ballot>& ballots_of_one_shark, const Rubric& rubric);

}  // namespace thresher
