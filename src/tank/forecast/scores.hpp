// SPDX-License-Identifier: Apache-2.0
// How good the sealed forecasts of a season were: each beside what its matches measured, scored by
// the rule that sharks are scored by (panel/credibility.hpp). What nobody has measured has no
// score.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tank/ledger/ledger.hpp"
#include "tank/panel/credibility.hpp"

namespace thresher {

// Median and 80 % interval, or what was measured and its 95 % interval; microseconds of a time,
// a ratio of a speedup.
struct ForecastRange {
  double value = 0;
  double low = 0;
  double high = 0;
};

struct ScoredForecast {
  bool is_time = false;  // a time; otherwise a speedup over the champion
  std::string suite;
  std::string subject;  // the problem, or the pitch
  std::string variant;  // that runs
  std::string refused;  // why it is foretold not to run; then there is no `predicted`
  std::optional<double> p_works;
  std::optional<ForecastRange> predicted;
  std::optional<ForecastRange> claimed;   // by the pitch
  std::optional<ForecastRange> measured;  // none: nobody has
  std::string verdict;                    // on the pitch, if it was played
  std::optional<ForecastScore> score;
};

struct ForecastScores {
  std::string device;
  std::string sealed_utc;
  std::string hash;
  std::string fault;  // the seal does not fit, or came too late: then nothing is scored
  std::vector<ScoredForecast> forecasts;

  // Over those that have one; none: nobody has measured anything yet.
  std::optional<double> mean_loss() const;
};

// Of the entries of one season, in their order; without forecasts among them nothing.
std::optional<ForecastScores> score_forecasts(const std::vector<LedgerEntry>& entries);

}  // namespace thresher
