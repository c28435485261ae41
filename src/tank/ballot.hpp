// SPDX-License-Identifier: Apache-2.0
// What a shark says of a pitch: scores, a forecast that can be scored, a vote, a reason.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace thresher {

// Weights of the rubric's dimensions, summing to 1. Data, not code: rounds may differ.
struct Rubric {
  std::string name;
  std::map<std::string, double> weights;  // "speedup", "feasibility", "risk", "pitch", "evidence"
};

struct Forecast {
  double p_works = 0.5;          // P(builds, is right, is accepted)
  double log_speedup_median = 0; // of ln(geomean speedup), given that it builds and is right
  double log_speedup_low = 0;    // 10 % quantile
  double log_speedup_high = 0;   // 90 % quantile
};

struct Ballot {
  std::string shark;
  std::string pitch;
  std::map<std::string, double> scores;  // 0..10 per dimension of the rubric
  Forecast forecast;
  bool vote = false;                     // this shark's pick of the round
  std::string reason;                    // one sentence
};

double weighted_score(const Ballot& ballot, const Rubric& rubric);

}  // namespace thresher
