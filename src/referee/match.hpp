// SPDX-License-Identifier: Apache-2.0
// A match: build, smoke run, correctness, timing, verdict, in that order. The referee owns the
// clock, the inputs, the expected values and the result channel.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "gemm/suite.hpp"
#include "referee/contestant/contestant.hpp"
#include "referee/sandbox/sandbox.hpp"
#include "referee/statistics/analysis.hpp"
#include "referee/statistics/verdict.hpp"
#include "thresher/engine.hpp"

namespace thresher {

struct MatchOptions {
  int thread_count = 0;              // 0: all usable cores
  int blocks_per_problem = 4;        // blocks per problem and heat, at least
  double call_timeout_seconds = 20;  // one call of a contestant
  double seconds_max = 60;           // the whole match; reached: the verdict says so
  bool cold = true;                  // evict caches before every timed call
  std::uint64_t seed = 0;            // 0: drawn from the kernel; if not, the verdict says so
  AnalysisOptions analysis;
  // What an earlier stretch of this very match played: same contestants, suite and terms, which its
  // owner vouches for. These heats count in every look as if there had been no break, and stand
  // first in the record's samples. What that does to the errors of a verdict: AnalysisOptions.
  MatchSamples earlier;
  EngineOptions gpu = {.device = "gpu"};  // for a match on one
  // The thresher binary whose `worker` command runs contestants; empty: the running one. Programs
  // that are not thresher themselves, such as tests, have to say.
  std::filesystem::path program;
  referee::Confinement confinement;  // what contestants shall not see
  // Called with a short text whenever something worth showing happens; may be empty.
  std::function<void(const std::string&)> progress;
};

// Both contestants must be of one backend.
struct Match {
  Contestant champion;
  Contestant challenger;
  Suite suite;
  DealTerms terms;
  MatchOptions options;
};

struct MatchRecord {
  Verdict verdict;
  MatchSamples samples;        // empty when it never came to timing; all stretches of the match
  int earlier_heat_count = 0;  // the first so many heats are of earlier stretches
  std::uint64_t seed = 0;
  std::string champion_hash;
  std::string challenger_hash;
  double seconds = 0;
  std::vector<std::string> log;  // what each step found, in order
};

MatchRecord judge(const Match& match);

namespace referee {

// judge() with what only the referee's own tests turn: the champion takes the share `gain` longer
// in every call of the match, so that a challenger which is the champion itself is faster by
// exactly that much. Below 0 it is the challenger that takes so much longer.
MatchRecord judge_with_gain(const Match& match, double gain);

}  // namespace referee

// The first steps alone (build, smoke, correctness): is this contestant right? The verdict's kind
// is kAccepted when it is. Pilot runs and `thresher pitch check --run` use it.
Verdict check_contestant(const Contestant& contestant, const Suite& suite,
                         const MatchOptions& options);

}  // namespace thresher
