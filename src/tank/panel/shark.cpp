// SPDX-License-Identifier: Apache-2.0
#include "tank/panel/shark.hpp"

#include <algorithm>
#include <cmath>

#include "referee/statistics/distributions.hpp"

namespace thresher {
namespace {

// Nobody is certain: a probability of 0 or 1 could never be mended by evidence.
constexpr double kCertaintyMax = 0.98;

double probability(double p) { return std::clamp(p, 1 - kCertaintyMax, kCertaintyMax); }

double points(double value) { return std::clamp(value, 0.0, kScoreMax); }

// What the pitch itself says, two points for each part that a judge can hold on to.
double pitch_points(const Pitch& pitch) {
  const int parts = int{!pitch.mechanism.empty()} + int{!pitch.bottleneck.empty()} +
                    int{!pitch.evidence.empty()} + int{!pitch.rollback.empty()} +
                    int{!pitch.claim_by_problem.empty()};
  return 2.0 * parts;
}

}  // namespace

double speedup_points(double log_speedup) {
  return points(2 * kScoreMax * (1 - std::exp(-log_speedup)));
}

double chance_above(double log_threshold, double mean, double sd) {
  return referee::normal_cdf((mean - log_threshold) / sd);
}

Ballot make_ballot(const std::string& shark, const Pitch& pitch, const Belief& belief,
                   const DealTerms& terms) {
  const double mean = belief.log_speedup;
  const double sd = belief.log_speedup_sd;
  const double p_right = probability(belief.p_right);
  const double p_harmless = chance_above(-std::log1p(terms.regression_max), mean, sd);
  const double p_fast = chance_above(std::log(terms.speedup_min), mean, sd);
  return {.shark = shark,
          .pitch = pitch.name,
          .scores = {{"speedup", speedup_points(mean)},
                     {"feasibility", points(kScoreMax * p_right)},
                     {"risk", points(kScoreMax * p_right * p_harmless)},
                     {"evidence", points(belief.evidence)},
                     {"pitch", pitch_points(pitch)}},
          .forecast = {.p_works = probability(belief.p_works.value_or(p_right * p_fast)),
                       .log_speedup_median = mean,
                       .log_speedup_low = mean - referee::kNormalQuantile90 * sd,
                       .log_speedup_high = mean + referee::kNormalQuantile90 * sd},
          .vote = false,
          .reason = belief.reason};
}

void cast_vote(std::vector<Ballot>& ballots, const Rubric& rubric) {
  const auto best =
      std::max_element(ballots.begin(), ballots.end(), [&](const Ballot& a, const Ballot& b) {
        return weighted_score(a, rubric) < weighted_score(b, rubric);
      });
  if (best != ballots.end()) best->vote = true;
}

}  // namespace thresher
