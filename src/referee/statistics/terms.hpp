// SPDX-License-Identifier: Apache-2.0
// How a match stands after some heats: which of the deal terms is met, broken, or open because the
// heats allow both; and whether the controls, the instrument's own checks, let anybody believe it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "referee/statistics/analysis.hpp"
#include "referee/statistics/heat_values.hpp"

namespace thresher::referee {

// A look is a judgement of the terms while the match may still go on, one after every heat. This
// is the error the look after `heat_count` heats may make so that all looks together, however many
// heats are granted later, make at most `error`. Four fifths are for the looks from heats_min to
// heats_max, the same for each: 0.8 error / (1 + 3 ln(heats_max / heats_min)). One fifth is for all
// looks after that: 0.2 error / (3 (1 + ln(heat_count / heats_max))^2).
//
// Looks share most of their heats, so their number matters little and their range in ln(heats)
// much: at a constant error per look, a unit of ln(heats) adds about three times that error. With
// the whole error, t-tests after every heat err in 4.0 to 4.8 % of cases where 5 % is allowed, for
// ranges from 2..15 to 4..60 (terms_test.cpp counts). Over ln(heats) from heats_max to infinity the
// second formula adds up to the fifth that was kept back, so its range needs no end.
double look_error(double error, const AnalysisOptions& options, int heat_count);

enum class Standing : std::uint8_t { kMet, kOpen, kBroken };

struct TermStanding {
  Standing standing = Standing::kOpen;
  std::string finding;        // "geomean 1.012x, at least 0.998x: a gain is not certain"
  int heats_needed = 0;       // kOpen: in all, if nothing changes
  bool would_be_met = false;  // kOpen: by these heats; otherwise they would break it
};

// The gain first, then every problem's regression, then every problem's spread, then the tails:
// mean and 90th percentile over all problems, and of every problem.
std::vector<TermStanding> judge_terms(const HeatValues& values, const MatchSamples& samples,
                                      const DealTerms& terms, const AnalysisOptions& options);

// Above this the regression's term says that a problem's ln(speedup) lies, where a look may make
// `error`: the one lower bound that is told of a problem.
double regression_lower(const HeatValues::OfProblem& values, double error);

// How likely heats of two arms that spread alike look as if the challenger spread this much more:
// the test of Pitman and Morgan. What hits both arms makes their times go together, and an F test
// of two variances would be wrong about that. Sum and difference of ln(time) are uncorrelated
// exactly if both arms spread alike, however much goes together. 1 where heats are too few to tell.
double spread_p_value(std::span<const double> champion, std::span<const double> challenger);

// Each control fails on a sound instrument with a probability of at most 1 %: that is the error of
// the intervals it reports.
inline constexpr double kControlError = 0.01;

// An instrument this little off cannot turn a verdict, however sure of it a quiet machine is.
inline constexpr double kSameShareOfGain = 0.1;      // of the logarithm of the speedup asked for
inline constexpr double kSlowedShareOfDelay = 0.25;  // of the logarithm of the injected slowdown

struct JudgedControls {
  Controls controls;
  // How far ln(speedup) may be off, at 99 %, by what failing controls show; 0: nothing is wrong.
  double bias_max = 0;
};

// The champion against its copy must not differ, the champion with a known delay must not be
// elsewhere than that delay puts it. A control that is too noisy to show anything contradicts
// nothing: the bounds on the match are made of the same noise.
JudgedControls judge_controls(const MatchSamples& samples, const DealTerms& terms);

}  // namespace thresher::referee
