// SPDX-License-Identifier: Apache-2.0
#include "tank/panel/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "assert.hpp"

namespace thresher {
namespace {

RankedPitch ranked(const std::string& pitch, const std::vector<Ballot>& ballots,
                   const Rubric& rubric, const Credibilities& credibilities) {
  double weight_sum = 0;
  double sum = 0;
  double squares = 0;
  for (const Ballot& ballot : ballots) {
    if (ballot.pitch != pitch) continue;
    const double weight = credibilities.at(ballot.shark);
    const double score = weighted_score(ballot, rubric);
    weight_sum += weight;
    sum += weight * score;
    squares += weight * score * score;
  }
  const double mean = sum / weight_sum;
  return {pitch, mean, std::sqrt(std::max(0.0, squares / weight_sum - mean * mean))};
}

const Pitch& find(const std::vector<Pitch>& pitches, const std::string& name) {
  const auto found = std::find_if(pitches.begin(), pitches.end(),
                                  [&](const Pitch& pitch) { return pitch.name == name; });
  THRESHER_ASSERT(found != pitches.end());
  return *found;
}

}  // namespace

std::vector<RankedPitch> rank(const std::vector<Ballot>& ballots, const Rubric& rubric,
                              const Credibilities& credibilities,
                              const std::vector<Pitch>& pitches) {
  std::vector<RankedPitch> order;
  for (const Pitch& pitch : pitches) {
    const bool has_ballot = std::any_of(ballots.begin(), ballots.end(), [&](const Ballot& ballot) {
      return ballot.pitch == pitch.name;
    });
    if (has_ballot) order.push_back(ranked(pitch.name, ballots, rubric, credibilities));
  }
  // Rounding to steps of a tie, not comparing differences: the order has to be transitive.
  const auto key = [&](const RankedPitch& one) {
    const Pitch& pitch = find(pitches, one.pitch);
    return std::tuple(-std::llround(one.score / (2 * kTie)), pitch.risk, pitch.complexity,
                      std::llround(one.disagreement / (2 * kTie)), one.pitch);
  };
  std::sort(order.begin(), order.end(),
            [&](const RankedPitch& a, const RankedPitch& b) { return key(a) < key(b); });
  return order;
}

}  // namespace thresher
